// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetEngineAPI
import FleetTokens

/// A leg of a vehicle's way that a router can be asked for.
public struct RouteLeg: Hashable, Sendable {
    /// Where the leg begins.
    public let start: LatLng
    /// Where it ends.
    public let end: LatLng

    /// A leg from one point to another.
    public init(start: LatLng, end: LatLng) {
        self.start = start
        self.end = end
    }
}

/// What a router knows of a leg.
public enum KnownRoad: Hashable, Sendable {
    /// There is a way along the roads.
    case way(RouteEstimate)
    /// There is no road, or none is looked for; the way is the straight line, at the usual speed of whoever takes it.
    case noRoad
}

/// A router that asks another service for ways along the roads, and remembers them.
///
/// ``OSRMRouter`` is one; conform a type of your own for another service. The roads are those of cars: who walks or cycles
/// gets the straight line, as does everybody where a leg is not known.
public protocol RoadRouter: Sendable {
    /// The way of a leg as it is known now.
    ///
    /// Calls ask from within transactions, many legs at a time, so this must not wait.
    ///
    /// - Parameter leg: The leg; two that are nearly the same may have one way.
    /// - Returns: The way, or that there is none; `nil` where it has to be asked for.
    func known(_ leg: RouteLeg) -> KnownRoad?

    /// Asks for legs, the first ones first, and waits for the answers up to a limit of time of the router's own.
    ///
    /// A call that looks waits for this and looks once more; no transaction is open meanwhile. Where the call is given
    /// up, its task is cancelled, and this should wait no longer.
    ///
    /// - Parameter legs: The legs that were not known.
    /// - Returns: Whether any of them is known now that was not before.
    func learn(_ legs: [RouteLeg]) async -> Bool

    /// Asks for legs and does not wait, as for a call that changed something.
    ///
    /// - Parameter legs: The legs that were not known.
    func prepare(_ legs: [RouteLeg])
}

/// The estimates of one call: roads where they are known, the straight line elsewhere, and a list of what is not known.
///
/// A transaction never waits for a router. What it lacked is asked for when it is over, and a call that only looks then
/// looks once more.
final class RouteSurvey: RouteEstimator {
    /// Legs in the order in which they were found to be lacking, each once.
    private struct Lacking {
        var legs: [RouteLeg] = []
        var members: Set<RouteLeg> = []
    }

    private let router: any RoadRouter
    private let lacking = Locked(Lacking())

    init(_ router: any RoadRouter) {
        self.router = router
    }

    /// The legs whose roads were not known, in the order in which they were needed.
    var unknown: [RouteLeg] { self.lacking.withLock(\.legs) }

    var followsRoads: Bool { true }

    func estimate(from start: LatLng, to end: LatLng, by category: Vehicle.VehicleType.Category) -> RouteEstimate {
        self.road(from: start, to: end, by: category)
            ?? StraightLineEstimator().estimate(from: start, to: end, by: category)
    }

    func isKnown(from start: LatLng, to end: LatLng, by category: Vehicle.VehicleType.Category) -> Bool {
        self.road(from: start, to: end, by: category) != nil
    }

    private func road(
        from start: LatLng, to end: LatLng, by category: Vehicle.VehicleType.Category
    ) -> RouteEstimate? {
        let leg = RouteLeg(start: start, end: end)
        // The roads are those of cars, and who walks or cycles takes others.
        let takesRoads = category != .bicycle && category != .pedestrian
        switch takesRoads ? self.router.known(leg) : .noRoad {
        case .way(let way): return way
        case .noRoad: return StraightLineEstimator().estimate(from: start, to: end, by: category)
        case nil: break
        }
        self.lacking.withLock { lacking in
            if lacking.members.insert(leg).inserted { lacking.legs.append(leg) }
        }
        return nil
    }
}
