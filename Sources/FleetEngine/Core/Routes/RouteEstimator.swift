// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI

/// Estimates a way between two points; replaceable by a router that knows the roads.
protocol RouteEstimator: Sendable {
    /// Estimates the way from one point to another.
    func estimate(from start: LatLng, to end: LatLng, by category: Vehicle.VehicleType.Category) -> RouteEstimate
}

/// The length of a way, and the time it takes.
struct RouteEstimate: Hashable, Sendable {
    var meters: Double
    var duration: Duration
}

/// Estimates without roads: the straight line, a factor for the detours of streets, and a usual speed.
struct StraightLineEstimator: RouteEstimator {
    /// How much longer streets are than the straight line.
    static let detour = 1.3

    func estimate(from start: LatLng, to end: LatLng, by category: Vehicle.VehicleType.Category) -> RouteEstimate {
        let meters = start.meters(to: end) * Self.detour
        return RouteEstimate(meters: meters, duration: .seconds(meters / Self.metersPerSecond(category)))
    }

    /// Usual speeds in a town, stops included.
    private static func metersPerSecond(_ category: Vehicle.VehicleType.Category) -> Double {
        switch category {
        case .unknown, .auto, .taxi, .UNRECOGNIZED: 30 / 3.6
        case .truck: 24 / 3.6
        case .twoWheeler: 28 / 3.6
        case .bicycle: 15 / 3.6
        case .pedestrian: 5 / 3.6
        }
    }
}
