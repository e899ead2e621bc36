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

    /// Asks for legs, and waits for the answers up to the router's limit of time.
    ///
    /// - Returns: Whether any of them is known now that was not before.
    func learn(_ legs: Set<RouteLeg>) async -> Bool

    /// Asks for legs and does not wait.
    func prepare(_ legs: Set<RouteLeg>)
}

/// The estimates of one call: roads where they are known, the straight line elsewhere, and a list of what is not known.
///
/// A transaction never waits for a router. What it lacked is asked for when it is over, and a call that only looks then
/// looks once more.
final class RouteSurvey: RouteEstimator {
    private let router: any RoadRouter
    private let lacking = Locked<Set<RouteLeg>>([])

    init(_ router: any RoadRouter) {
        self.router = router
    }

    /// The legs that were estimated without knowing their roads.
    var unknown: Set<RouteLeg> { self.lacking.withLock { $0 } }

    func estimate(from start: LatLng, to end: LatLng, by category: Vehicle.VehicleType.Category) -> RouteEstimate {
        let straight = StraightLineEstimator().estimate(from: start, to: end, by: category)
        // The roads are those of cars, and who walks or cycles takes others.
        guard category != .bicycle, category != .pedestrian else { return straight }
        let leg = RouteLeg(start: start, end: end)
        if let known = self.router.known(leg) { return known }
        self.lacking.withLock { _ = $0.insert(leg) }
        return straight
    }
}
