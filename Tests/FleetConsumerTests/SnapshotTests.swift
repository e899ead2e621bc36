// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetConsumer
import FleetTokens
import Foundation
import Testing

/// An app's own tests and previews make what its code gets from the models.
struct SnapshotTests {
    private let time = Date(timeIntervalSince1970: 1_738_774_952)
    private let here = GeoPoint(latitude: 37.5, longitude: -122)
    private let there = GeoPoint(latitude: 37.9, longitude: -122)

    @Test func `an app can make a trip's snapshot`() throws {
        let trip = try TripID(checking: "trip-7")
        let traffic = RouteTraffic(stretches: [.init(points: 0...1, speed: "SLOW")], encodedPath: "xyz")
        let snapshot = try TripSnapshot(
            trip: trip,
            status: .enrouteToPickup,
            vehicle: VehicleID(checking: "veh-3"),
            vehiclePosition: VehiclePosition(point: self.here, heading: 90),
            etaToNextWaypoint: self.time,
            remainingDistanceMeters: 169,
            remainingWaypoints: [TripWaypoint(point: self.there, trip: trip)],
            route: [self.here, self.there],
            encodedRoute: "abc",
            traffic: traffic,
            pickupPoint: self.here,
            pickupTime: self.time + 1,
            dropoffPoint: self.there,
            dropoffTime: self.time + 2,
            intermediateDestinations: [self.there],
            intermediateDestinationIndex: 1,
            type: "EXCLUSIVE",
            numberOfPassengers: 2)
        #expect(snapshot.trip == trip && snapshot.status == .enrouteToPickup)
        #expect(snapshot.vehicle?.value == "veh-3" && snapshot.vehiclePosition?.heading == 90)
        #expect(snapshot.etaToNextWaypoint == self.time && snapshot.remainingDistanceMeters == 169)
        #expect(snapshot.remainingWaypoints.map(\.point) == [self.there] && snapshot.route == [self.here, self.there])
        #expect(snapshot.encodedRoute == "abc" && snapshot.traffic == traffic)
        #expect(snapshot.pickupPoint == self.here && snapshot.pickupTime == self.time + 1)
        #expect(snapshot.dropoffPoint == self.there && snapshot.dropoffTime == self.time + 2)
        #expect(snapshot.intermediateDestinations == [self.there] && snapshot.intermediateDestinationIndex == 1)
        #expect(snapshot.type == "EXCLUSIVE" && snapshot.numberOfPassengers == 2)
        #expect(TripSnapshot(trip: trip, status: .new).remainingWaypoints.isEmpty)
    }

    @Test func `an app can make a shipment's snapshot`() throws {
        let tracking = try TrackingID(checking: "parcel-7")
        let window = DateInterval(start: self.time, duration: 3_600)
        let snapshot = ShipmentSnapshot(
            tracking: tracking,
            state: .closed,
            outcome: .succeeded,
            outcomeTime: self.time,
            plannedPoint: self.there,
            timeWindow: window,
            vehiclePosition: VehiclePosition(point: self.here),
            remainingStopCount: 3,
            remainingDistanceMeters: 169,
            estimatedArrival: self.time + 1,
            estimatedCompletion: self.time + 2,
            route: [self.here, self.there])
        #expect(snapshot.tracking == tracking && snapshot.state == .closed)
        #expect(snapshot.outcome == .succeeded && snapshot.outcomeTime == self.time)
        #expect(snapshot.plannedPoint == self.there && snapshot.timeWindow == window)
        #expect(snapshot.vehiclePosition?.point == self.here && snapshot.remainingStopCount == 3)
        #expect(snapshot.remainingDistanceMeters == 169 && snapshot.route == [self.here, self.there])
        #expect(snapshot.estimatedArrival == self.time + 1 && snapshot.estimatedCompletion == self.time + 2)
        #expect(ShipmentSnapshot(tracking: tracking, state: .open).route.isEmpty)
    }
}
