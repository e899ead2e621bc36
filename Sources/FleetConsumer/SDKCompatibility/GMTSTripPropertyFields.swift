// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Properties of a trip, in the shape and with the numbers of Google's Consumer SDK.
public struct GMTSTripPropertyFields: OptionSet, Hashable, Sendable {
    /// The properties as bits.
    public let rawValue: UInt

    /// Makes a set from bits.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// The trip's name.
    public static let tripName = Self(rawValue: 1)
    /// The vehicle that makes the trip.
    public static let vehicleID = Self(rawValue: 1 << 1)
    /// Whether the trip shares its vehicle.
    public static let tripType = Self(rawValue: 1 << 2)
    /// How far the trip is.
    public static let tripStatus = Self(rawValue: 1 << 3)
    /// Where the trip begins.
    public static let pickupLocation = Self(rawValue: 1 << 4)
    /// When it begins.
    public static let pickupTime = Self(rawValue: 1 << 5)
    /// Where the trip ends.
    public static let dropoffLocation = Self(rawValue: 1 << 6)
    /// When it ends.
    public static let dropoffTime = Self(rawValue: 1 << 7)
    /// Where the vehicle was seen last.
    public static let routeLastVehicleLocation = Self(rawValue: 1 << 8)
    /// How many people ride.
    public static let numberOfPassengers = Self(rawValue: 1 << 9)
    /// The stops that are left.
    public static let remainingWaypoints = Self(rawValue: 1 << 10)
    /// The places between.
    public static let intermediateDestinations = Self(rawValue: 1 << 11)
    /// Which of the places between comes next.
    public static let intermediateDestinationIndex = Self(rawValue: 1 << 12)
    /// Metres to the next stop.
    public static let remainingDistanceOfActiveRouteInMeters = Self(rawValue: 1 << 13)
    /// Metres to the next stop, which is all that the engine tells of the distance.
    public static let distanceOfRemainingRouteInMeters = Self(rawValue: 1 << 14)
    /// The way to the next stop.
    public static let activeRoute = Self(rawValue: 1 << 15)
    /// The traffic on it.
    public static let activeRouteTraffic = Self(rawValue: 1 << 16)
    /// The way to the end of the trip.
    public static let remainingRoute = Self(rawValue: 1 << 17)
    /// The traffic on it.
    public static let remainingRouteTraffic = Self(rawValue: 1 << 18)
}

extension GMTSTripPropertyFields {
    /// What is different between two states of a trip; everything that is there, for a trip that was not known.
    init(from old: TripSnapshot?, to new: TripSnapshot) {
        self = []
        func compare<Value: Equatable>(_ field: Self, _ value: (TripSnapshot) -> Value, _ unknown: Value) {
            if value(new) != old.map(value) ?? unknown { self.insert(field) }
        }
        if old == nil { self.insert(.tripName) }
        compare(.vehicleID, \.vehicle, nil)
        compare(.tripType, \.type, nil)
        compare(.tripStatus, { $0.status as TripStatus? }, nil)
        compare(.pickupLocation, \.pickupPoint, nil)
        compare(.pickupTime, \.pickupTime, nil)
        compare(.dropoffLocation, \.dropoffPoint, nil)
        compare(.dropoffTime, \.dropoffTime, nil)
        compare(.routeLastVehicleLocation, \.vehiclePosition, nil)
        compare(.numberOfPassengers, \.numberOfPassengers, 0)
        compare(.remainingWaypoints, \.remainingWaypoints, [])
        compare(.intermediateDestinations, \.intermediateDestinations, [])
        compare(.intermediateDestinationIndex, \.intermediateDestinationIndex, 0)
        compare(.remainingDistanceOfActiveRouteInMeters, \.activeRouteDistanceMeters, nil)
        compare(.distanceOfRemainingRouteInMeters, \.remainingDistanceMeters, nil)
        compare(.activeRoute, \.route, [])
        compare(.activeRouteTraffic, \.traffic, nil)
        compare(.remainingRoute, \.remainingRoute, [])
        compare(.remainingRouteTraffic, \.remainingRouteTraffic, [])
    }
}

extension TripSnapshot {
    /// Metres to the next stop.
    var activeRouteDistanceMeters: Int? { self.remainingWaypoints.first?.distanceMeters }

    /// The way to the end of the trip, as far as the engine gives it in points.
    var remainingRoute: [GeoPoint] {
        let toNext = self.route.isEmpty ? self.remainingWaypoints.first?.path ?? [] : self.route
        return toNext + self.remainingWaypoints.dropFirst().flatMap(\.path)
    }

    /// The traffic to each stop that is left, where known.
    var remainingRouteTraffic: [RouteTraffic] { self.remainingWaypoints.compactMap(\.traffic) }
}
