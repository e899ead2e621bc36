// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
public import Foundation

/// A point on Earth.
public struct GeoPoint: Hashable, Sendable {
    /// Degrees north.
    public var latitude: Double
    /// Degrees east.
    public var longitude: Double

    /// Makes a point.
    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }
}

/// Where the vehicle of a trip or a shipment was seen last.
public struct VehiclePosition: Hashable, Sendable {
    /// The place.
    public var point: GeoPoint
    /// Degrees clockwise from north, where known.
    public var heading: Int?
    /// Metres per second, where known.
    public var speed: Double?
    /// When the device was there, by its own clock.
    public var deviceTime: Date?
    /// When the engine heard of it.
    public var serverTime: Date?

    /// Makes a position.
    public init(
        point: GeoPoint,
        heading: Int? = nil,
        speed: Double? = nil,
        deviceTime: Date? = nil,
        serverTime: Date? = nil
    ) {
        self.point = point
        self.heading = heading
        self.speed = speed
        self.deviceTime = deviceTime
        self.serverTime = serverTime
    }
}

/// A stop that the vehicle still has to make before the trip is over; it may belong to another trip.
public struct TripWaypoint: Hashable, Sendable {
    /// The place.
    public var point: GeoPoint
    /// The trip that the stop belongs to, where the engine says so.
    public var trip: TripID?
    /// What happens there, as the engine names it, such as `PICKUP_WAYPOINT_TYPE`.
    public var type: String?
    /// When the vehicle will be there.
    public var eta: Date?
    /// Metres from the stop before, or from the vehicle.
    public var distanceMeters: Int?
    /// The way there; empty where the engine gives none.
    public var path: [GeoPoint]
    /// The way there in the engine's own compact form, where it gives that.
    public var encodedPath: String?
    /// The traffic on the way there, where the engine knows it.
    public var traffic: RouteTraffic?

    /// Makes a stop.
    public init(
        point: GeoPoint,
        trip: TripID? = nil,
        type: String? = nil,
        eta: Date? = nil,
        distanceMeters: Int? = nil,
        path: [GeoPoint] = [],
        encodedPath: String? = nil,
        traffic: RouteTraffic? = nil
    ) {
        self.point = point
        self.trip = trip
        self.type = type
        self.eta = eta
        self.distanceMeters = distanceMeters
        self.path = path
        self.encodedPath = encodedPath
        self.traffic = traffic
    }
}

/// How fast the traffic flows along a way.
public struct RouteTraffic: Hashable, Sendable {
    /// A part of the way on which the traffic flows alike.
    public struct Stretch: Hashable, Sendable {
        /// The first and the last of the points of ``RouteTraffic/encodedPath`` that belong to it, from 0.
        public var points: ClosedRange<Int>
        /// How fast, as the engine names it: `NORMAL`, `SLOW` or `TRAFFIC_JAM`.
        public var speed: String

        /// Makes a part.
        public init(points: ClosedRange<Int>, speed: String) {
            self.points = points
            self.speed = speed
        }
    }

    /// The parts, in order; there is nothing known of what lies between them.
    public var stretches: [Stretch]
    /// The way that their points count, in the engine's own compact form, where it gives that.
    public var encodedPath: String?

    /// Makes the traffic of a way.
    public init(stretches: [Stretch], encodedPath: String? = nil) {
        self.stretches = stretches
        self.encodedPath = encodedPath
    }
}
