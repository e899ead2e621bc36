// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import SwiftProtobuf
import Testing

@testable import FleetEngine

/// The life of a trip: every effect that was recorded, and the rules round it.
@Suite struct TripCallTests {
    private static let start = TestClock.start

    private func assigned(_ change: (inout Trip) -> Void = { _ in }) async throws -> EngineFixture {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        try await fixture.createVehicle("veh-2")
        try await fixture.createTrip("trip-1", .with(.sample, change))
        try await fixture.updateTrip("trip-1", ["vehicle_id"]) { $0.vehicleID = "veh-1" }
        return fixture
    }

    @discardableResult
    private func set(_ status: TripStatus, _ fixture: EngineFixture, _ trip: String = "trip-1") async throws -> Trip {
        try await fixture.updateTrip(trip, ["tripStatus"]) { $0.tripStatus = status }
    }

    // MARK: Creation

    @Test func `a trip is created as NEW, without anything that a vehicle would tell`() async throws {
        let fixture = EngineFixture()
        let created = try await fixture.createTrip(
            "trip-1",
            .with(.sample) {
                $0.tripStatus = .complete
                $0.lastLocation = .at(1, 1)
                $0.etaToFirstWaypoint = .init(seconds: 1)
                $0.actualPickupPoint.point = .at(1, 1)
                $0.currentRouteSegment = "x"
                $0.intermediateDestinationIndex = 4
            }
        )
        let expected = Trip.with(.sample) {
            $0.name = "providers/acme/trips/trip-1"
            $0.tripStatus = .new
            $0.view = .sdk
        }
        #expect(created == expected)
        #expect(try await fixture.trip("trip-1") == expected)
    }

    @Test(
        arguments: [
            ("trip_type", { @Sendable in $0.tripType = .unknownTripType }),
            ("trip_type", { $0.tripType = .UNRECOGNIZED(8) }),
            ("pickup_point", { $0.clearPickupPoint() }), ("pickup_point", { $0.pickupPoint = .init() }),
            ("pickup_point.point", { $0.pickupPoint = .at(91, 0) }), ("dropoff_point", { $0.dropoffPoint = .init() }),
            (
                "intermediate_destinations",
                {
                    $0.tripType = .shared; $0.intermediateDestinations = [.at(1, 1)]
                }
            ),
            ("intermediate_destinations", { $0.intermediateDestinations = [.init()] }),
            ("intermediate_destinations", { $0.intermediateDestinations = Array(repeating: .at(1, 1), count: 501) }),
            ("number_of_passengers", { $0.numberOfPassengers = -1 }),
            ("vehicle_id", { $0.vehicleID = "a/b" }),
            ("attributes", { $0.attributes = [.with { $0.key = "a:b" }] }),
            (
                "vehicle_waypoints",
                {
                    $0.vehicleID = "veh-1"
                    $0.vehicleWaypoints = [.with { $0.tripID = "other" }]
                }
            ),
        ] as [(String, @Sendable (inout Trip) -> Void)])
    func `a malformed creation is refused by the name of its field`(
        field: String, change: @Sendable (inout Trip) -> Void
    ) async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        let error = await #expect(throws: EngineError.self) {
            try await fixture.createTrip("trip-1", .with(.sample, change))
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.metadata["field"] == field)
        #expect(await code { try await fixture.trip("trip-1") } == .notFound)
    }

    // MARK: Effects

    @Test func `an assigned trip gets its stops, times and place from the vehicle`() async throws {
        let fixture = try await self.assigned()
        let trip = try await fixture.trip("trip-1")
        #expect(trip.tripStatus == .new)
        #expect(trip.remainingWaypoints.map(\.waypointType) == [.pickupWaypointType, .dropOffWaypointType])
        #expect(trip.remainingWaypoints.map(\.tripID) == ["trip-1", "trip-1"])
        #expect(trip.remainingWaypointsVersion.date == Self.start)
        #expect(trip.etaToFirstWaypoint == trip.pickupTime)
        #expect(trip.remainingWaypoints.map(\.eta) == [trip.pickupTime, trip.dropoffTime])
        let places = [trip.lastLocation.location] + trip.remainingWaypoints.map(\.location.point)
        let ways = zip(places, places.dropFirst()).map { StraightLineEstimator().estimate(from: $0, to: $1, by: .auto) }
        #expect(trip.pickupTime == trip.lastLocation.serverTime.advanced(by: ways[0].duration))
        #expect(trip.dropoffTime == trip.pickupTime.advanced(by: ways[1].duration))
        #expect(
            trip.remainingWaypoints.map(\.duration) == [
                .init(trip.lastLocation.serverTime.duration(to: trip.pickupTime)),
                .init(trip.pickupTime.duration(to: trip.dropoffTime)),
            ])
        #expect(trip.hasRemainingDistanceMeters)
        #expect(trip.lastLocation.location == .at(37.419645, -122.073884))
        #expect(trip.lastLocation.hasServerTime)
        #expect(trip.currentRouteSegmentEndPoint.waypointType == .pickupWaypointType)
        let vehicle = try await fixture.vehicle("veh-1")
        #expect(vehicle.currentTrips == ["trip-1"])
        #expect(vehicle.waypoints == trip.remainingWaypoints)
        #expect(vehicle.etaToFirstWaypoint == trip.etaToFirstWaypoint)
    }

    @Test func `a passenger does not see the vehicle's other readings, nor its whole plan`() async throws {
        let fixture = try await self.assigned()
        try await fixture.updateVehicle("veh-1", ["last_location"]) {
            $0.lastLocation = .with(.at(37.4, -122)) {
                $0.heading = 90
                $0.rawLocation = .at(1, 1)
                $0.rawLocationTime = .init(date: Self.start)
                $0.rawLocationAccuracy = 4.0
                $0.flpLocation = .at(2, 2)
                $0.flpUpdateTime = .init(date: Self.start)
                $0.flpLatlngAccuracyMeters = 5.0
                $0.flpHeadingDegrees = 91
                $0.supplementalLocation = .at(3, 3)
                $0.supplementalLocationTime = .init(date: Self.start)
                $0.supplementalLocationAccuracy = 6.0
            }
        }
        let written = try await fixture.updateTrip("trip-1", ["tripStatus"]) { $0.tripStatus = .new }
        let read = try await fixture.trip("trip-1")
        #expect(written.vehicleWaypoints.count == 2)
        #expect(read.vehicleWaypoints.isEmpty)
        for trip in [written, read] {
            let expected = VehicleLocation.with(.at(37.4, -122)) {
                $0.heading = 90
                $0.serverTime = .init(date: Self.start)
            }
            #expect(trip.lastLocation == expected)
        }
    }

    @Test func `the pickup stays a stop until it is left`() async throws {
        let fixture = try await self.assigned()
        for status in [TripStatus.enrouteToPickup, .arrivedAtPickup] {
            let trip = try await self.set(status, fixture)
            #expect(trip.remainingWaypoints.count == 2)
            #expect(!trip.hasActualPickupPoint)
        }
        fixture.advance(by: 60)
        try await fixture.updateVehicle("veh-1", ["last_location"]) {
            $0.lastLocation = .at(37.41, -122.07)
            $0.lastLocation.rawLocation = .at(37.41, -122.07)
            $0.lastLocation.rawLocationTime = .init(date: Self.start + 58)
        }
        fixture.advance(by: 5)
        let left = try await self.set(.enrouteToDropoff, fixture)
        #expect(left.remainingWaypoints.map(\.waypointType) == [.dropOffWaypointType])
        #expect(left.pickupTime.date == Self.start + 65)
        #expect(left.actualPickupPoint.point == .at(37.41, -122.07))
        #expect(left.actualPickupPoint.timestamp.date == Self.start + 58)
        #expect(left.remainingWaypointsVersion.date == Self.start + 65)
        #expect(try await fixture.vehicle("veh-1").waypointsVersion.date == Self.start + 65)
        fixture.advance(by: 5)
        #expect(try await fixture.trip("trip-1").pickupTime.date == Self.start + 65)
    }

    @Test func `a pickup point that the caller gives is kept`() async throws {
        let fixture = try await self.assigned()
        let trip = try await fixture.updateTrip("trip-1", ["trip_status", "actual_pickup_point"]) {
            $0.tripStatus = .enrouteToDropoff
            $0.actualPickupPoint.point = .at(1, 2)
        }
        #expect(trip.actualPickupPoint.point == .at(1, 2))
        #expect(
            await code {
                try await fixture.updateTrip("trip-1", ["actual_dropoff_point"]) { $0.actualDropoffPoint = .init() }
            } == .invalidArgument)
    }

    @Test func `points that the caller gives early are kept at every later step`() async throws {
        let fixture = try await self.assigned()
        try await fixture.updateTrip("trip-1", ["actual_pickup_point", "actual_dropoff_point", "trip_status"]) {
            $0.tripStatus = .enrouteToPickup
            $0.actualPickupPoint.point = .at(1, 2)
            $0.actualDropoffPoint.point = .at(3, 4)
        }
        for status in [TripStatus.arrivedAtPickup, .enrouteToPickup, .enrouteToDropoff, .complete] {
            let trip = try await self.set(status, fixture)
            #expect(trip.actualPickupPoint.point == .at(1, 2), "\(status)")
            #expect(trip.actualDropoffPoint.point == .at(3, 4), "\(status)")
        }
    }

    @Test func `of the actual points, those of pickup and drop-off are shown and no others`() async throws {
        let fixture = try await self.assigned()
        let mask = [
            "actual_pickup_point", "actual_pickup_arrival_point", "actual_dropoff_point",
            "actual_intermediate_destinations", "actual_intermediate_destination_arrival_points",
        ]
        let stops = (1...5).map { number in StopLocation.with { $0.point = .at(Double(number), 0) } }
        let updated = try await fixture.updateTrip("trip-1", mask) {
            $0.actualPickupPoint = stops[0]
            $0.actualPickupArrivalPoint = stops[1]
            $0.actualDropoffPoint = stops[2]
            $0.actualIntermediateDestinations = [stops[3]]
            $0.actualIntermediateDestinationArrivalPoints = [stops[4]]
        }
        func search(_ vehicle: String) async throws -> [Trip] {
            try await fixture.engine.perform(
                SearchTrips.self,
                .with {
                    $0.parent = "providers/acme"
                    $0.vehicleID = vehicle
                }, token: serverToken
            ).trips
        }
        let read = try await [fixture.trip("trip-1"), fixture.trip("trip-1") { $0.view = .journeySharingV1S }]
        let found = try await search("veh-1") + search("")
        #expect(found.count == 2)
        let done = try await self.set(.complete, fixture)
        for trip in [updated] + read + found + [done] {
            #expect(trip.actualPickupPoint == stops[0])
            #expect(trip.actualDropoffPoint == stops[2])
            #expect(!trip.hasActualPickupArrivalPoint)
            #expect(trip.actualIntermediateDestinations.isEmpty)
            #expect(trip.actualIntermediateDestinationArrivalPoints.isEmpty)
        }
    }

    @Test func `the deprecated time of an actual point becomes its time, unless that is given too`() async throws {
        let fixture = try await self.assigned()
        let deprecated = StopLocation.with {
            $0.point = .at(1, 2)
            $0.stopTime.seconds = 100
        }
        let both = StopLocation.with(deprecated) { $0.timestamp.seconds = 200 }
        func time(_ seconds: Int64) -> StopLocation {
            .with {
                $0.point = .at(1, 2)
                $0.timestamp.seconds = seconds
            }
        }
        let mask = [
            "actual_pickup_point", "actual_pickup_arrival_point", "actual_dropoff_point",
            "actual_intermediate_destinations", "actual_intermediate_destination_arrival_points",
        ]
        try await fixture.updateTrip("trip-1", mask) {
            $0.actualPickupPoint = deprecated
            $0.actualPickupArrivalPoint = deprecated
            $0.actualDropoffPoint = both
            $0.actualIntermediateDestinations = [deprecated, both]
            $0.actualIntermediateDestinationArrivalPoints = [both, deprecated]
        }
        let stored = try #require(try await fixture.store.read { try $0.trip(TestID.id("trip-1"), of: TestID.acme) })
        #expect(stored.actualPickupPoint == time(100))
        #expect(stored.actualPickupArrivalPoint == time(100))
        #expect(stored.actualDropoffPoint == time(200))
        #expect(stored.actualIntermediateDestinations == [time(100), time(200)])
        #expect(stored.actualIntermediateDestinationArrivalPoints == [time(200), time(100)])

        // A mask that names the deprecated field alone renews the one that replaced it.
        let renewed = try await fixture.updateTrip("trip-1", ["actualDropoffPoint.stopTime"]) {
            $0.actualDropoffPoint.stopTime.seconds = 300
        }
        #expect(renewed.actualDropoffPoint == time(300))
        let kept = try await fixture.updateTrip(
            "trip-1", ["actual_dropoff_point.stop_time", "actual_dropoff_point.timestamp"]
        ) {
            $0.actualDropoffPoint.stopTime.seconds = 400
            $0.actualDropoffPoint.timestamp.seconds = 500
        }
        #expect(kept.actualDropoffPoint == time(500))
    }

    @Test func `a complete trip keeps its record, and the vehicle no trace`() async throws {
        let fixture = try await self.assigned()
        try await self.set(.enrouteToDropoff, fixture)
        try await fixture.updateVehicle(
            "veh-1", ["current_route_segment", "remaining_distance_meters", "eta_to_first_waypoint"]
        ) {
            $0.currentRouteSegment = "AhY"
            $0.remainingDistanceMeters = 12
            $0.etaToFirstWaypoint = .init(date: Self.start + 9)
        }
        fixture.advance(by: 100)
        let done = try await self.set(.complete, fixture)
        #expect(done.dropoffTime.date == Self.start + 100)
        #expect(done.pickupTime.date == Self.start)
        #expect(done.actualDropoffPoint.point == .at(37.419645, -122.073884))
        #expect(done.hasActualPickupPoint)
        #expect(done.remainingWaypoints.isEmpty)
        #expect(done.vehicleWaypoints.isEmpty)
        #expect(!done.hasEtaToFirstWaypoint)
        #expect(!done.hasRemainingDistanceMeters)
        #expect(!done.hasRemainingTimeToFirstWaypoint)
        #expect(done.currentRouteSegment.isEmpty)
        #expect(!done.hasCurrentRouteSegmentEndPoint)
        #expect(done.lastLocation == .at(37.419645, -122.073884))
        #expect(done.vehicleID == "veh-1")
        let vehicle = try await fixture.vehicle("veh-1")
        #expect(vehicle.currentTrips.isEmpty)
        #expect(vehicle.waypoints.isEmpty)
        #expect(vehicle.currentRouteSegment.isEmpty)
        #expect(!vehicle.hasCurrentRouteSegmentEndPoint)
        // Recorded so: what the driver reported last of time and distance stays.
        #expect(vehicle.remainingDistanceMeters.value == 12)
        try await fixture.updateVehicle("veh-1", ["last_location"]) { $0.lastLocation = .at(0, 0) }
        #expect(try await fixture.trip("trip-1") == done)
    }

    @Test func `a canceled trip keeps what it had of the pickup, and has no drop-off`() async throws {
        let fixture = try await self.assigned()
        try await self.set(.enrouteToDropoff, fixture)
        fixture.advance(by: 9)
        let canceled = try await self.set(.canceled, fixture)
        #expect(canceled.hasActualPickupPoint)
        #expect(canceled.pickupTime.date == Self.start)
        #expect(!canceled.hasDropoffTime)
        #expect(!canceled.hasActualDropoffPoint)
        #expect(canceled.remainingWaypoints.isEmpty)
        #expect(try await fixture.vehicle("veh-1").currentTrips.isEmpty)

        let early = try await self.assigned()
        let never = try await self.set(.canceled, early)
        #expect(!never.hasPickupTime)
        #expect(!never.hasActualPickupPoint)
    }

    @Test func `a trip without a vehicle can be completed`() async throws {
        let fixture = EngineFixture()
        try await fixture.createTrip("trip-1")
        let done = try await self.set(.complete, fixture)
        #expect(done.tripStatus == .complete)
        #expect(!done.hasActualDropoffPoint)
        #expect(!done.hasLastLocation)
    }

    @Test func `a trip moves from one vehicle to another, and to none`() async throws {
        let fixture = try await self.assigned()
        fixture.advance(by: 7)
        let moved = try await fixture.updateTrip("trip-1", ["vehicle_id", "trip_status"]) {
            $0.vehicleID = "veh-2"
            $0.tripStatus = .enrouteToPickup
        }
        #expect(moved.remainingWaypoints.count == 2)
        #expect(moved.remainingWaypointsVersion.date == Self.start)
        #expect(try await fixture.vehicle("veh-1").waypoints.isEmpty)
        #expect(try await fixture.vehicle("veh-1").currentTrips.isEmpty)
        #expect(try await fixture.vehicle("veh-2").currentTrips == ["trip-1"])
        let again = try await fixture.updateTrip("trip-1", ["vehicle_id", "trip_status"]) {
            $0.vehicleID = "veh-2"
            $0.tripStatus = .enrouteToPickup
        }
        #expect(again == moved)
        let none = try await fixture.updateTrip("trip-1", ["vehicle_id"])
        #expect(none.remainingWaypoints.isEmpty)
        #expect(!none.hasEtaToFirstWaypoint)
        #expect(!none.hasLastLocation)
        #expect(try await fixture.vehicle("veh-2").waypoints.isEmpty)
    }

    // MARK: Status

    @Test(arguments: TripStatus.allCases.dropFirst(), TripStatus.allCases.dropFirst())
    func `any step is taken but out of an ended trip`(from: TripStatus, to: TripStatus) async throws {
        let fixture = try await self.assigned { $0.intermediateDestinations = [.at(37.43, -122.07)] }
        try await self.set(from, fixture)
        let before = try await fixture.trip("trip-1")
        let ended = from == .complete || from == .canceled
        #expect(await code { try await self.set(to, fixture) } == (ended && from != to ? .failedPrecondition : nil))
        if from == to { #expect(try await fixture.trip("trip-1") == before) }
    }

    @Test func `an unknown status and a destination that is not there are refused`() async throws {
        let fixture = try await self.assigned()
        for status in [
            TripStatus.unknownTripStatus, .UNRECOGNIZED(99), .arrivedAtIntermediateDestination,
            .enrouteToIntermediateDestination,
        ] {
            #expect(await code { try await self.set(status, fixture) } == .invalidArgument, "\(status)")
        }
    }

    @Test func `an ended trip keeps its vehicle`() async throws {
        let fixture = try await self.assigned()
        try await self.set(.complete, fixture)
        let outcome = await code { try await fixture.updateTrip("trip-1", ["vehicle_id"]) { $0.vehicleID = "veh-2" } }
        #expect(outcome == .failedPrecondition)
    }

    @Test func `a step back from the pickup brings the stop back first`() async throws {
        let fixture = try await self.assigned()
        try await self.set(.enrouteToDropoff, fixture)
        fixture.advance(by: 3)
        let back = try await self.set(.enrouteToPickup, fixture)
        #expect(back.remainingWaypoints.map(\.waypointType) == [.pickupWaypointType, .dropOffWaypointType])
        #expect(back.pickupTime == back.etaToFirstWaypoint)
    }

    @Test func `a pickup that is made again is recorded again`() async throws {
        let fixture = try await self.assigned()
        try await self.set(.enrouteToDropoff, fixture)
        try await self.set(.arrivedAtPickup, fixture)
        fixture.advance(by: 30)
        try await fixture.updateVehicle("veh-1", ["last_location"]) { $0.lastLocation = .at(37.43, -122.07) }
        let again = try await self.set(.enrouteToDropoff, fixture)
        #expect(again.actualPickupPoint.point == .at(37.43, -122.07))
        try await self.set(.arrivedAtPickup, fixture)
        let given = try await fixture.updateTrip("trip-1", ["trip_status", "actual_pickup_point"]) {
            $0.tripStatus = .enrouteToDropoff
            $0.actualPickupPoint.point = .at(37.5, -122)
        }
        #expect(given.actualPickupPoint.point == .at(37.5, -122))
    }

    @Test func `an estimate stays between two reports, and the time to it falls`() async throws {
        let fixture = try await self.assigned { $0.pickupPoint = .at(37.5, -122.073885) }
        let first = try await fixture.trip("trip-1")
        fixture.advance(by: 20)
        let second = try await fixture.trip("trip-1")
        #expect(second.etaToFirstWaypoint == first.etaToFirstWaypoint)
        #expect(
            first.remainingTimeToFirstWaypoint.timeInterval - second.remainingTimeToFirstWaypoint.timeInterval == 20)
    }

    @Test func `a location can be snapped to the segment that comes with it`() async throws {
        let fixture = try await self.assigned()
        #expect(!(try await fixture.trip("trip-1").lastLocationSnappable))
        try await fixture.updateVehicle("veh-1", ["current_route_segment"]) { $0.currentRouteSegment = "AbCd" }
        #expect(try await fixture.trip("trip-1").lastLocationSnappable)
        let found = try await fixture.engine.perform(
            SearchTrips.self,
            .with {
                $0.parent = "providers/acme"
                $0.vehicleID = "veh-1"
            }, token: serverToken)
        #expect(found.trips.map(\.currentRouteSegment) == ["AbCd"])
    }

    @Test(arguments: [
        TripWaypoint.with { $0.tripID = "trip-1" }, .with { $0.waypointType = .pickupWaypointType },
        .with {
            $0.tripID = "trip-1"
            $0.location = Trip.sample.pickupPoint
        },
    ])
    func `a segment's end may be told in part`(end: TripWaypoint) async throws {
        let fixture = try await self.assigned()
        let mask = ["current_route_segment", "current_route_segment_end_point"]
        let vehicle = try await fixture.updateVehicle("veh-1", mask) {
            $0.currentRouteSegment = "AbCd"
            $0.currentRouteSegmentEndPoint = end
        }
        #expect(vehicle.currentRouteSegmentEndPoint.tripID == "trip-1")
        #expect(vehicle.currentRouteSegmentEndPoint.waypointType == .pickupWaypointType)
    }

    // MARK: Destinations on the way

    @Test func `without destinations there is none to count`() async throws {
        let fixture = try await self.assigned()
        let trip = try await fixture.updateTrip("trip-1", ["intermediate_destination_index"]) {
            $0.intermediateDestinationIndex = 7
        }
        #expect(trip.intermediateDestinationIndex == 0)
    }

    @Test func `a trip has five hundred destinations on its way, and no more`() async throws {
        let fixture = try await self.assigned { $0.intermediateDestinations = Array(repeating: .at(1, 1), count: 500) }
        #expect(try await fixture.vehicle("veh-1").waypoints.count == 502)
        let outcome = await code {
            try await fixture.updateTrip("trip-1", ["intermediate_destinations"]) {
                $0.intermediateDestinations = Array(repeating: .at(1, 1), count: 501)
            }
        }
        #expect(outcome == .invalidArgument)
        #expect(try await fixture.trip("trip-1").intermediateDestinations.count == 500)
    }

    @Test func `the index follows a list that gets shorter, but where it tells which destination is meant`()
        async throws
    {
        let places = [TerminalLocation.at(37.43, -122.07), .at(37.44, -122.07), .at(37.45, -122.07)]
        let fixture = try await self.assigned { $0.intermediateDestinations = places }
        func shorten(
            to count: Int, _ mask: [String] = [], _ change: (inout Trip) -> Void = { _ in }
        ) async throws -> Int32 {
            try await fixture.updateTrip("trip-1", ["intermediate_destinations"] + mask) {
                $0.intermediateDestinations = Array(places.prefix(count))
                change(&$0)
            }.intermediateDestinationIndex
        }
        try await fixture.updateTrip("trip-1", ["trip_status", "intermediate_destination_index"]) {
            $0.tripStatus = .arrivedAtIntermediateDestination
            $0.intermediateDestinationIndex = 2
        }
        #expect(await code { try await shorten(to: 2) } == .invalidArgument)
        #expect(try await shorten(to: 2, ["trip_status"]) { $0.tripStatus = .enrouteToDropoff } == 1)
        #expect(try await shorten(to: 1) == 0)
        let named = await code {
            try await shorten(to: 1, ["intermediate_destination_index"]) { $0.intermediateDestinationIndex = 1 }
        }
        #expect(named == .invalidArgument)
        #expect(try await shorten(to: 0) == 0)
    }

    @Test func `destinations are stops until the vehicle has left them`() async throws {
        let fixture = try await self.assigned {
            $0.intermediateDestinations = [.at(37.43, -122.07), .at(37.44, -122.07)]
        }
        func stops(_ status: TripStatus, _ index: Int32) async throws -> [Double] {
            try await fixture.updateTrip("trip-1", ["trip_status", "intermediate_destination_index"]) {
                $0.tripStatus = status
                $0.intermediateDestinationIndex = index
            }.remainingWaypoints.map(\.location.point.latitude)
        }
        #expect(try await stops(.arrivedAtPickup, 0) == [37.419646, 37.43, 37.44, 37.464646])
        #expect(try await stops(.enrouteToIntermediateDestination, 0) == [37.43, 37.44, 37.464646])
        #expect(try await stops(.arrivedAtIntermediateDestination, 0) == [37.43, 37.44, 37.464646])
        #expect(try await stops(.enrouteToIntermediateDestination, 1) == [37.44, 37.464646])
        #expect(try await stops(.enrouteToDropoff, 1) == [37.464646])
        #expect(await code { try await stops(.enrouteToIntermediateDestination, 2) } == .invalidArgument)
        #expect(await code { try await stops(.enrouteToIntermediateDestination, -1) } == .invalidArgument)
    }

    @Test func `the version of destinations is a precondition, masked or not`() async throws {
        let fixture = try await self.assigned { $0.intermediateDestinations = [.at(37.43, -122.07)] }
        let version = try await fixture.trip("trip-1").intermediateDestinationsVersion
        #expect(version.date == Self.start)
        fixture.advance(by: 4)
        let changed = try await fixture.updateTrip("trip-1", ["intermediate_destinations"]) {
            $0.intermediateDestinations = [.at(37.45, -122.07)]
        }
        #expect(changed.intermediateDestinationsVersion.date == Self.start + 4)
        func go(_ mask: [String], _ version: Google_Protobuf_Timestamp) async -> EngineError.Code? {
            await code {
                try await fixture.updateTrip("trip-1", mask) {
                    $0.tripStatus = .enrouteToIntermediateDestination
                    $0.intermediateDestinationsVersion = version
                }
            }
        }
        #expect(await go(["trip_status"], version) == .failedPrecondition)
        #expect(await go(["trip_status", "intermediate_destinations_version"], version) == .failedPrecondition)
        #expect(await go(["intermediate_destination_index"], version) == .failedPrecondition)
        #expect(await go(["intermediateDestinations"], version) == .failedPrecondition)
        #expect(await go(["attributes", "intermediate_destinations_version"], version) == .failedPrecondition)
        // Who sends the whole trip with another mask depends on none of its destinations.
        #expect(await go(["attributes"], version) == nil)
        let kept = try await fixture.trip("trip-1")
        #expect(kept.tripStatus == .new)
        #expect(kept.intermediateDestinations == changed.intermediateDestinations)
        #expect(await go(["trip_status"], changed.intermediateDestinationsVersion) == nil)
        #expect(
            try await fixture.trip("trip-1").intermediateDestinationsVersion == changed.intermediateDestinationsVersion)
        fixture.advance(by: 4)
        let again = try await fixture.updateTrip("trip-1", ["intermediate_destinations"]) {
            $0.intermediateDestinations = [.at(37.46, -122.07)]
            $0.intermediateDestinationsVersion = changed.intermediateDestinationsVersion
        }
        #expect(again.intermediateDestinations.map(\.point.latitude) == [37.46])
    }

    @Test func `a pickup point that moves moves its stop, in its place`() async throws {
        let fixture = try await self.assigned()
        fixture.advance(by: 1)
        let moved = try await fixture.updateTrip("trip-1", ["pickupPoint"]) { $0.pickupPoint = .at(37.45, -122.05) }
        #expect(moved.remainingWaypoints.map(\.location.point.latitude) == [37.45, 37.464646])
        #expect(moved.remainingWaypointsVersion.date == Self.start + 1)
        #expect(await code { try await fixture.updateTrip("trip-1", ["pickup_point"]) } == .invalidArgument)
        let open = try await fixture.updateTrip("trip-1", ["dropoff_point"])
        #expect(open.remainingWaypoints.count == 1)
    }

    // MARK: Reading

    @Test func `a trip shows what the driver reported of the way to the first stop`() async throws {
        let fixture = try await self.assigned()
        try await fixture.updateVehicle(
            "veh-1", ["current_route_segment", "remaining_time_seconds", "remaining_distance_meters"]
        ) {
            $0.currentRouteSegment = "AhY"
            $0.remainingTimeSeconds = 52
            $0.remainingDistanceMeters = 266
        }
        fixture.advance(by: 12)
        let trip = try await fixture.trip("trip-1") { $0.routeFormatType = .encodedPolylineType }
        #expect(trip.currentRouteSegment == "AhY")
        #expect(trip.etaToFirstWaypoint.date == Self.start + 52)
        #expect(trip.pickupTime.date == Self.start + 52)
        #expect(trip.remainingTimeToFirstWaypoint.seconds == 40)
        #expect(trip.remainingDistanceMeters.value == 266)
        #expect(trip.route.isEmpty)
        let points = try await fixture.trip("trip-1")
        #expect(points.currentRouteSegment.isEmpty)
        #expect(points.route.count == 2)
        let known = try await fixture.trip("trip-1") {
            $0.routeFormatType = .encodedPolylineType
            $0.currentRouteSegmentVersion = trip.currentRouteSegmentVersion
        }
        #expect(known.currentRouteSegment.isEmpty)
        let sharing = try await fixture.trip("trip-1") {
            $0.view = .journeySharingV1S
            $0.routeFormatType = .encodedPolylineType
        }
        #expect(sharing.view == .journeySharingV1S)
        #expect(sharing.currentRouteSegment.isEmpty)
        fixture.advance(by: 100)
        #expect(try await fixture.trip("trip-1").remainingTimeToFirstWaypoint == .init())
    }

    @Test(arguments: ["trip-1", "nobody"])
    func `a view or format that the contract does not have is refused, whether or not the trip is there`(
        id: String
    ) async throws {
        let fixture = try await self.assigned()
        let requests: [(field: String, change: (inout GetTrip.Request) -> Void)] = [
            ("view", { $0.view = .UNRECOGNIZED(7) }),
            ("route_format_type", { $0.routeFormatType = .UNRECOGNIZED(9) }),
        ]
        for (field, change) in requests {
            let error = await #expect(throws: EngineError.self) { try await fixture.trip(id, change) }
            #expect(error?.code == .invalidArgument)
            #expect(error?.metadata["field"] == field)
        }
        // Who may not see the trip is told that.
        let stranger = await code {
            try await fixture.trip(id, token: "consumer|tripid=x") { $0.view = .UNRECOGNIZED(7) }
        }
        #expect(stranger == .permissionDenied)
    }

    @Test func `a route is left out only for who has the segment that leads there`() async throws {
        let fixture = try await self.assigned()
        func poll(after known: Trip) async throws -> Trip {
            try await fixture.trip("trip-1") { $0.currentRouteSegmentVersion = known.currentRouteSegmentVersion }
        }
        try await fixture.updateVehicle("veh-1", ["current_route_segment"]) { $0.currentRouteSegment = "AhY" }
        let guided = try await poll(after: Trip())
        #expect(guided.route.last == LatLng.at(37.419646, -122.073885))
        #expect(try await poll(after: guided).route.isEmpty)
        fixture.advance(by: 1)
        try await fixture.updateVehicle("veh-1", ["current_route_segment"])
        let unguided = try await poll(after: guided)
        #expect(unguided.hasCurrentRouteSegmentVersion)
        try await self.set(.enrouteToDropoff, fixture)
        #expect(try await poll(after: unguided).route.last == LatLng.at(37.464646, -122.073885))
    }
}
