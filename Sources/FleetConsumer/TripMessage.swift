// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

/// The engine's `Trip` message, as far as a trip model reads it; proto3 JSON leaves out zeros and empty values.
struct TripMessage: Decodable {
    struct Point: Decodable {
        var latitude: Double?
        var longitude: Double?
        var point: GeoPoint { GeoPoint(latitude: self.latitude ?? 0, longitude: self.longitude ?? 0) }
    }
    struct Place: Decodable {
        var point: Point?
    }
    struct Waypoint: Decodable {
        var location: Place?
        var tripId: String?
        var waypointType: String?
        var pathToWaypoint: [Point]?
        var encodedPathToWaypoint: String?
        var trafficToWaypoint: Traffic?
        var distanceMeters: Int?
        var eta: String?
    }
    struct Traffic: Decodable {
        struct Interval: Decodable {
            var startPolylinePointIndex: Int?
            var endPolylinePointIndex: Int?
            var speed: String?
        }
        var speedReadingInterval: [Interval]?
        var encodedPathToWaypoint: String?
    }
    struct Location: Decodable {
        var location: Point?
        var heading: Int?
        var speed: Double?
        var updateTime: String?
        var serverTime: String?
    }
    /// What the engine compares to leave out what did not change, exactly as it wrote them.
    struct Versions: Sendable {
        var route: String?
        var waypoints: String?
        var waypointRoutes: String?
        var traffic: String?
    }

    /// What every trip has; an answer without it is a failure.
    ///
    /// What stands before the engine, such as a network's sign-in page, may answer with 200 too, and tells nothing.
    let name: String
    var vehicleId: String?
    var tripStatus: String?
    var tripType: String?
    var numberOfPassengers: Int?
    var lastLocation: Location?
    var etaToFirstWaypoint: String?
    var remainingDistanceMeters: Int?
    var remainingWaypoints: [Waypoint]?
    var remainingWaypointsVersion: String?
    var remainingWaypointsRouteVersion: String?
    var route: [Point]?
    var currentRouteSegment: String?
    var currentRouteSegmentVersion: String?
    var currentRouteSegmentTraffic: Traffic?
    var currentRouteSegmentTrafficVersion: String?
    var pickupPoint: Place?
    var pickupTime: String?
    var dropoffPoint: Place?
    var dropoffTime: String?
    var intermediateDestinations: [Place]?
    var intermediateDestinationIndex: Int?
}

// MARK: - Into a snapshot

extension TripMessage {
    /// The snapshot after this answer.
    ///
    /// The engine leaves out what did not change since the versions that were sent with the question; those values
    /// are taken over from the snapshot before. They are not taken over to another vehicle, nor past the trip's end, and
    /// what had no version is not there any more when it is left out.
    ///
    /// - Parameters:
    ///   - trip: The trip.
    ///   - old: The snapshot before.
    ///   - versions: Those that were sent with the question; they become those for the next one.
    /// - Returns: The snapshot.
    func snapshot(of trip: TripID, after old: TripSnapshot?, versions: inout Versions) -> TripSnapshot {
        let status = TripStatus(rawValue: self.tripStatus ?? TripStatus.unknown.rawValue)
        let vehicle = self.vehicleId.flatMap { VehicleID($0) }
        let kept = vehicle != nil && vehicle == old?.vehicle && !status.isFinal ? old : nil

        var snapshot = TripSnapshot(
            trip: trip,
            status: status,
            vehicle: vehicle,
            vehiclePosition: self.lastLocation?.position,
            etaToNextWaypoint: self.etaToFirstWaypoint.flatMap { RFC3339.date($0) },
            remainingDistanceMeters: self.remainingDistanceMeters,
            remainingWaypoints: (self.remainingWaypoints ?? []).compactMap(\.waypoint),
            route: (self.route ?? []).map(\.point),
            encodedRoute: self.currentRouteSegment,
            traffic: self.currentRouteSegmentTraffic?.traffic,
            pickupPoint: self.pickupPoint?.point?.point,
            pickupTime: self.pickupTime.flatMap { RFC3339.date($0) },
            dropoffPoint: self.dropoffPoint?.point?.point,
            dropoffTime: self.dropoffTime.flatMap { RFC3339.date($0) },
            intermediateDestinations: (self.intermediateDestinations ?? []).compactMap(\.point?.point),
            intermediateDestinationIndex: self.intermediateDestinationIndex ?? 0,
            type: self.tripType,
            numberOfPassengers: self.numberOfPassengers ?? 0
        )
        let known = kept == nil ? Versions() : versions
        versions = Versions(
            route: self.currentRouteSegmentVersion ?? known.route,
            waypoints: self.remainingWaypointsVersion ?? known.waypoints,
            waypointRoutes: self.remainingWaypointsRouteVersion ?? known.waypointRoutes,
            traffic: self.currentRouteSegmentTrafficVersion ?? known.traffic
        )
        guard let kept else { return snapshot }
        func isUnchanged(_ version: KeyPath<Versions, String?>) -> Bool {
            known[keyPath: version] != nil && known[keyPath: version] == versions[keyPath: version]
        }
        if self.currentRouteSegmentTraffic == nil, isUnchanged(\.traffic) {
            snapshot.traffic = kept.traffic
        }
        if self.remainingWaypoints == nil, isUnchanged(\.waypoints) {
            snapshot.remainingWaypoints = kept.remainingWaypoints
        }
        // Without a stop left there is no way, whatever its version.
        if self.route == nil, self.currentRouteSegment == nil, isUnchanged(\.route),
            !snapshot.remainingWaypoints.isEmpty
        {
            snapshot.route = kept.route
            snapshot.encodedRoute = kept.encodedRoute
        }
        if isUnchanged(\.waypointRoutes) {
            snapshot.keepPaths(of: kept.remainingWaypoints)
        }
        return snapshot
    }
}

extension TripSnapshot {
    /// Gives stops that came without a way there the one that was known.
    fileprivate mutating func keepPaths(of known: [TripWaypoint]) {
        for index in self.remainingWaypoints.indices {
            let stop = self.remainingWaypoints[index]
            guard stop.path.isEmpty, stop.encodedPath == nil,
                let same = known.first(where: {
                    $0.point == stop.point && $0.trip == stop.trip && $0.type == stop.type
                })
            else { continue }
            self.remainingWaypoints[index].path = same.path
            self.remainingWaypoints[index].encodedPath = same.encodedPath
            self.remainingWaypoints[index].traffic = stop.traffic ?? same.traffic
        }
    }
}

extension TripMessage.Waypoint {
    fileprivate var waypoint: TripWaypoint? {
        guard let point = self.location?.point else { return nil }
        return TripWaypoint(
            point: point.point,
            trip: self.tripId.flatMap { TripID($0) },
            type: self.waypointType,
            eta: self.eta.flatMap { RFC3339.date($0) },
            distanceMeters: self.distanceMeters,
            path: (self.pathToWaypoint ?? []).map(\.point),
            encodedPath: self.encodedPathToWaypoint,
            traffic: self.trafficToWaypoint?.traffic
        )
    }
}

extension TripMessage.Traffic {
    /// The traffic, without parts whose points make no sense.
    fileprivate var traffic: RouteTraffic {
        RouteTraffic(
            stretches: (self.speedReadingInterval ?? []).compactMap { interval in
                let (first, last) = (interval.startPolylinePointIndex ?? 0, interval.endPolylinePointIndex ?? 0)
                guard let speed = interval.speed, 0 <= first, first <= last else { return nil }
                return RouteTraffic.Stretch(points: first...last, speed: speed)
            },
            encodedPath: self.encodedPathToWaypoint
        )
    }
}

extension TripMessage.Location {
    var position: VehiclePosition? {
        guard let point = self.location else { return nil }
        return VehiclePosition(
            point: point.point,
            heading: self.heading,
            speed: self.speed,
            deviceTime: self.updateTime.flatMap { RFC3339.date($0) },
            serverTime: self.serverTime.flatMap { RFC3339.date($0) }
        )
    }
}
