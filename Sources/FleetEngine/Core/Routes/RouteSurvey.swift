// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens

/// A leg of a vehicle's way that a router can be asked for.
struct RouteLeg: Hashable, Sendable {
    let start: LatLng
    let end: LatLng
}

/// A router that asks another service for ways and remembers them.
protocol RoadRouter: Sendable {
    /// The way of a leg as it is known now; `nil` where it has to be asked for. It must not wait.
    func known(_ leg: RouteLeg) -> RouteEstimate?

    /// Asks for legs, the first ones first, and waits for the answers up to the router's limit of time.
    ///
    /// - Returns: Whether any of them is known now that was not before.
    func learn(_ legs: [RouteLeg]) async -> Bool

    /// Asks for legs and does not wait.
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
        // The roads are those of cars, and who walks or cycles takes others.
        guard category != .bicycle, category != .pedestrian else {
            return StraightLineEstimator().estimate(from: start, to: end, by: category)
        }
        let leg = RouteLeg(start: start, end: end)
        if let known = self.router.known(leg) { return known }
        self.lacking.withLock { lacking in
            if lacking.members.insert(leg).inserted { lacking.legs.append(leg) }
        }
        return nil
    }
}
