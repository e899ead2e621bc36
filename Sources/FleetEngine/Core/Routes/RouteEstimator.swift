// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetEngineAPI

/// Estimates the way between two points; the straight line, or a router that knows the roads.
protocol RouteEstimator: Sendable {
    /// Whether estimates are of ways along roads, as far as these are known.
    var followsRoads: Bool { get }

    /// Estimates the way from one point to another, from what is at hand: it must not wait, as transactions call it.
    func estimate(from start: LatLng, to end: LatLng, by category: Vehicle.VehicleType.Category) -> RouteEstimate

    /// Whether the estimate of a way is what it will stay; where it is not, the way's roads are asked for.
    func isKnown(from start: LatLng, to end: LatLng, by category: Vehicle.VehicleType.Category) -> Bool
}

/// A way: its length, the time it takes, and where it leads along.
public struct RouteEstimate: Hashable, Sendable {
    /// The way's length in metres.
    public var meters: Double
    /// How long a car takes for it.
    public var duration: Duration
    /// The points of the way, from start to end; at least two where it leads anywhere.
    public var path: [LatLng]

    /// A way of this length, time and line.
    public init(meters: Double, duration: Duration, path: [LatLng]) {
        self.meters = meters
        self.duration = duration
        self.path = path
    }
}

/// Estimates without roads: the straight line, a factor for the detours of streets, and a usual speed.
struct StraightLineEstimator: RouteEstimator {
    /// How much longer streets are than the straight line.
    static let detour = 1.3

    var followsRoads: Bool { false }

    func estimate(from start: LatLng, to end: LatLng, by category: Vehicle.VehicleType.Category) -> RouteEstimate {
        var way = self.shortest(acrossMeters: start.meters(to: end), by: category)
        way.path = [start, end]
        return way
    }

    func isKnown(from start: LatLng, to end: LatLng, by category: Vehicle.VehicleType.Category) -> Bool { true }

    /// The way between two points so far apart in a straight line, without a path; it lets searches stop early.
    func shortest(acrossMeters straight: Double, by category: Vehicle.VehicleType.Category) -> RouteEstimate {
        let meters = straight * Self.detour
        return RouteEstimate(meters: meters, duration: .seconds(meters / Self.metersPerSecond(category)), path: [])
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
