// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
public import Foundation

/// What is known of a trip after the last answer.
public struct TripSnapshot: Hashable, Sendable {
    /// The trip.
    public var trip: TripID
    /// How far it is.
    public var status: TripStatus
    /// The vehicle that makes it, once one is assigned.
    public var vehicle: VehicleID?
    /// Where the vehicle was seen last.
    public var vehiclePosition: VehiclePosition?
    /// When the vehicle will be at the next stop.
    public var etaToNextWaypoint: Date?
    /// Metres from the vehicle to its next stop, whoever gets on or off there.
    public var remainingDistanceMeters: Int?
    /// The stops that are left, in order.
    public var remainingWaypoints: [TripWaypoint]
    /// The way to the next stop; empty where the engine gives none.
    public var route: [GeoPoint]
    /// The way to the next stop in the engine's own compact form, where it gives that.
    public var encodedRoute: String?
    /// The traffic on the way to the next stop, where the engine knows it.
    public var traffic: RouteTraffic?
    /// Where the trip begins.
    public var pickupPoint: GeoPoint?
    /// When the trip begins: an estimate, and after the pick-up when it was.
    public var pickupTime: Date?
    /// Where the trip ends.
    public var dropoffPoint: GeoPoint?
    /// When the trip ends: an estimate, and after the drop-off when it was.
    public var dropoffTime: Date?
    /// The places between, in order.
    public var intermediateDestinations: [GeoPoint]
    /// Which of the places between comes next, from 0.
    public var intermediateDestinationIndex: Int
    /// Whether the trip shares its vehicle, as the engine names it, such as `EXCLUSIVE`.
    public var type: String?
    /// How many people ride.
    public var numberOfPassengers: Int

    /// Makes a snapshot, as for an app's previews and tests; by default, of a trip of which nothing more is known.
    public init(
        trip: TripID,
        status: TripStatus,
        vehicle: VehicleID? = nil,
        vehiclePosition: VehiclePosition? = nil,
        etaToNextWaypoint: Date? = nil,
        remainingDistanceMeters: Int? = nil,
        remainingWaypoints: [TripWaypoint] = [],
        route: [GeoPoint] = [],
        encodedRoute: String? = nil,
        traffic: RouteTraffic? = nil,
        pickupPoint: GeoPoint? = nil,
        pickupTime: Date? = nil,
        dropoffPoint: GeoPoint? = nil,
        dropoffTime: Date? = nil,
        intermediateDestinations: [GeoPoint] = [],
        intermediateDestinationIndex: Int = 0,
        type: String? = nil,
        numberOfPassengers: Int = 0
    ) {
        self.trip = trip
        self.status = status
        self.vehicle = vehicle
        self.vehiclePosition = vehiclePosition
        self.etaToNextWaypoint = etaToNextWaypoint
        self.remainingDistanceMeters = remainingDistanceMeters
        self.remainingWaypoints = remainingWaypoints
        self.route = route
        self.encodedRoute = encodedRoute
        self.traffic = traffic
        self.pickupPoint = pickupPoint
        self.pickupTime = pickupTime
        self.dropoffPoint = dropoffPoint
        self.dropoffTime = dropoffTime
        self.intermediateDestinations = intermediateDestinations
        self.intermediateDestinationIndex = intermediateDestinationIndex
        self.type = type
        self.numberOfPassengers = numberOfPassengers
    }
}

// MARK: - Changes

extension TripSnapshot: FollowedSnapshot {
    var isOver: Bool { self.status.isFinal }

    /// What is different from an earlier snapshot, in the order in which an app wants to hear it.
    func changes(since old: TripSnapshot?) -> [TripChange] {
        var changes: [TripChange] = []
        if self.vehicle != old?.vehicle { changes.append(.vehicle(self.vehicle)) }
        if self.status != old?.status { changes.append(.status(self.status)) }
        if self.vehiclePosition != old?.vehiclePosition { changes.append(.vehiclePosition(self.vehiclePosition)) }
        if self.etaToNextWaypoint != old?.etaToNextWaypoint {
            changes.append(.etaToNextWaypoint(self.etaToNextWaypoint))
        }
        if self.pickupPoint != old?.pickupPoint || self.pickupTime != old?.pickupTime {
            changes.append(.pickup(self.pickupPoint, time: self.pickupTime))
        }
        if self.dropoffPoint != old?.dropoffPoint || self.dropoffTime != old?.dropoffTime {
            changes.append(.dropoff(self.dropoffPoint, time: self.dropoffTime))
        }
        if self.intermediateDestinations != old?.intermediateDestinations ?? []
            || self.intermediateDestinationIndex != old?.intermediateDestinationIndex ?? 0
        {
            changes.append(
                .intermediateDestinations(self.intermediateDestinations, next: self.intermediateDestinationIndex))
        }
        if self.remainingDistanceMeters != old?.remainingDistanceMeters {
            changes.append(.remainingDistance(self.remainingDistanceMeters))
        }
        if self.remainingWaypoints != old?.remainingWaypoints ?? [] {
            changes.append(.remainingWaypoints(self.remainingWaypoints))
        }
        if self.route != old?.route ?? [] || self.encodedRoute != old?.encodedRoute {
            changes.append(.route(self.route, encoded: self.encodedRoute))
        }
        if self.traffic != old?.traffic { changes.append(.traffic(self.traffic)) }
        if self.status.isFinal, old?.status.isFinal != true { changes.append(.ended(self.status)) }
        return changes
    }
}
