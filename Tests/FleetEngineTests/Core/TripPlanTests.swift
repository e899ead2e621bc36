// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import SwiftProtobuf
import Testing

@testable import FleetEngine

/// The stops of a vehicle that makes several trips.
@Suite struct TripPlanTests {
    private static let start = TestClock.start

    private func shared(_ trips: [String] = ["a"]) async throws -> EngineFixture {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1", .with(.sample) { $0.supportedTripTypes = [.shared, .exclusive] })
        for trip in trips {
            try await fixture.createTrip(
                trip,
                .with(.sample) {
                    $0.tripType = .shared
                    $0.vehicleID = "veh-1"
                }
            )
        }
        return fixture
    }

    private static func stop(_ trip: String, _ type: Maps_Fleetengine_V1_WaypointType) -> TripWaypoint {
        .with {
            $0.tripID = trip
            $0.waypointType = type
        }
    }

    @Test func `vehicle_waypoints order the stops of all trips`() async throws {
        let fixture = try await self.shared()
        let order = [
            Self.stop("a", .pickupWaypointType), Self.stop("b", .pickupWaypointType),
            Self.stop("b", .dropOffWaypointType), Self.stop("a", .dropOffWaypointType),
        ]
        let b = try await fixture.createTrip(
            "b",
            .with(.sample) {
                $0.tripType = .shared
                $0.vehicleID = "veh-1"
                $0.vehicleWaypoints = order
            }
        )
        #expect(b.vehicleWaypoints.map(\.tripID) == ["a", "b", "b", "a"])
        #expect(b.remainingWaypoints.map(\.tripID) == ["a", "b", "b"])
        #expect(try await fixture.trip("a").remainingWaypoints.count == 4)
        fixture.advance(by: 1)
        try await fixture.updateTrip("b", ["trip_status"]) { $0.tripStatus = .enrouteToDropoff }
        #expect(try await fixture.vehicle("veh-1").waypoints.map(\.tripID) == ["a", "b", "a"])
        #expect(try await fixture.trip("a").remainingWaypointsVersion.date == Self.start + 1)
    }

    @Test func `a vehicle has a thousand stops at most, and refuses more before anything is kept`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        func trip(of destinations: Int, in vehicle: String = "veh-1") -> Trip {
            .with(.sample) {
                $0.intermediateDestinations = Array(repeating: .at(37.43, -122.07), count: destinations)
                $0.vehicleID = vehicle
            }
        }
        // Each has a pickup and a drop-off, too.
        try await fixture.createTrip("a", trip(of: 500))
        try await fixture.createTrip("b", trip(of: 496))
        try await fixture.createTrip("free", trip(of: 0, in: ""))
        let full = try await fixture.vehicle("veh-1")
        #expect(full.waypoints.count == 1000)
        fixture.advance(by: 1)
        func outcome(_ change: () async throws -> Trip) async -> EngineError.Code? {
            let error = await #expect(throws: EngineError.self) { _ = try await change() }
            #expect(error?.message.contains("1000 at most") == true)
            return error?.code
        }
        #expect(await outcome { try await fixture.createTrip("c", trip(of: 500)) } == .invalidArgument)
        #expect(await outcome { try await fixture.createTrip("c", trip(of: 0)) } == .invalidArgument)
        #expect(await code { try await fixture.trip("c") } == .notFound)
        let joining = await outcome {
            try await fixture.updateTrip("free", ["vehicle_id"]) { $0.vehicleID = "veh-1" }
        }
        #expect(joining == .invalidArgument)
        #expect(try await fixture.trip("free").vehicleID.isEmpty)
        let growing = await outcome {
            try await fixture.updateTrip("b", ["intermediate_destinations"]) { $0 = trip(of: 497) }
        }
        #expect(growing == .invalidArgument)
        let unchanged = try await fixture.vehicle("veh-1")
        #expect(unchanged.waypoints.map(\.tripID) == full.waypoints.map(\.tripID))
        #expect(unchanged.waypointsVersion == full.waypointsVersion)
        #expect(unchanged.currentTrips == ["a", "b"])
        // What brings no more is taken, and makes room.
        try await fixture.updateTrip("b", ["attributes"])
        try await fixture.updateTrip("a", ["trip_status"]) { $0.tripStatus = .enrouteToDropoff }
        try await fixture.createTrip("c", trip(of: 499))
        #expect(try await fixture.vehicle("veh-1").waypoints.count == 1000)
    }

    @Test func `a plan that is longer than any may get from now on is kept, and can get shorter`() async throws {
        let fixture = try await self.shared()
        let stop = Self.stop("other", .dropOffWaypointType)
        try await fixture.store.write { store in
            var vehicle = try #require(try store.vehicle(TestID.id("veh-1"), of: TestID.acme))
            vehicle.waypoints += Array(repeating: stop, count: 1500)
            try store.put(vehicle, TestID.id("veh-1"), of: TestID.acme, at: .init(stamping: Self.start))
        }
        try await fixture.updateTrip("a", ["attributes"])
        try await fixture.updateTrip("a", ["trip_status"]) { $0.tripStatus = .enrouteToDropoff }
        #expect(try await fixture.vehicle("veh-1").waypoints.count == 1501)
    }

    @Test func `a path's version does not change with stops behind it`() async throws {
        let fixture = try await self.shared()
        fixture.advance(by: 1)
        try await fixture.createTrip(
            "b",
            .with(.sample) {
                $0.tripType = .shared
                $0.vehicleID = "veh-1"
            }
        )
        #expect(try await fixture.vehicle("veh-1").waypointsVersion.date == Self.start + 1)
        #expect(try await fixture.trip("a").remainingWaypointsVersion.date == Self.start)
        #expect(try await fixture.trip("b").remainingWaypointsVersion.date == Self.start + 1)
    }

    @Test(arguments: [
        // One stop too few, one too many, one twice, a trip turned round, a foreign trip, an unknown type.
        [("a", 1), ("a", 2), ("b", 1)], [("a", 1), ("a", 2), ("b", 1), ("b", 2), ("c", 1)],
        [("a", 1), ("a", 1), ("b", 1), ("b", 2)], [("a", 2), ("a", 1), ("b", 1), ("b", 2)],
        [("x", 1), ("a", 2), ("b", 1), ("b", 2)], [("a", 1), ("a", 2), ("b", 0), ("b", 2)],
        // An exclusive trip (b) with stops of another between its own, or between another's.
        [("b", 1), ("a", 1), ("a", 2), ("b", 2)], [("b", 1), ("a", 1), ("b", 2), ("a", 2)],
        [("a", 1), ("b", 1), ("b", 2), ("a", 2)],
    ])
    func `an order of stops that does not hold is refused and nothing is kept`(order: [(String, Int)]) async throws {
        let fixture = try await self.shared()
        let before = try await fixture.vehicle("veh-1")
        let outcome = await code {
            try await fixture.createTrip(
                "b",
                .with(.sample) {
                    $0.vehicleID = "veh-1"
                    $0.vehicleWaypoints = order.map { Self.stop($0, .init(rawValue: $1) ?? .unknownWaypointType) }
                }
            )
        }
        #expect(outcome == .invalidArgument)
        #expect(try await fixture.vehicle("veh-1") == before)
        #expect(await code { try await fixture.trip("b") } == .notFound)
    }

    @Test(arguments: [
        ("s s x x t t", true), ("x x s t s t", true), ("s t t s x x", true), ("s t s t x x", true),
        ("s t t x x s", false), ("s x x s t t", false), ("s t s x t x", false), ("s t s x x t", false),
        ("t s s x x t", false), ("x t x t s s", false), ("x s s x t t", false),
    ])
    func `an exclusive trip has no company, however many trips there are`(order: String, holds: Bool) async throws {
        let fixture = try await self.shared(["s", "t"])
        try await fixture.createTrip("x", .with(.sample) { $0.vehicleID = "veh-1" })
        var plan: [TripWaypoint] = []
        for trip in order.split(separator: " ").map(String.init) {
            let isSecond = plan.contains { $0.tripID == trip }
            plan.append(Self.stop(trip, isSecond ? .dropOffWaypointType : .pickupWaypointType))
        }
        let outcome = await code { try await fixture.updateVehicle("veh-1", ["waypoints"]) { $0.waypoints = plan } }
        #expect(outcome == (holds ? nil : .invalidArgument))
        let tripIDs = try await fixture.vehicle("veh-1").waypoints.map(\.tripID)
        #expect(tripIDs == (holds ? plan.map(\.tripID) : ["s", "s", "t", "t", "x", "x"]))
    }

    @Test func `destinations of a trip are told apart by their places, and stay in their order`() async throws {
        let fixture = try await self.shared()
        try await fixture.createTrip(
            "x",
            .with(.sample) {
                $0.vehicleID = "veh-1"
                $0.intermediateDestinations = [.at(37.43, -122.07), .at(37.44, -122.07), .at(37.44, -122.07)]
            }
        )
        let stops = try await fixture.vehicle("veh-1").waypoints
        #expect(stops.map(\.tripID) == ["a", "a", "x", "x", "x", "x", "x"])
        func order(_ places: [Int], located: Bool = true) async throws -> [Double] {
            try await fixture.updateVehicle("veh-1", ["waypoints"]) {
                $0.waypoints = places.map { stops[$0] }
                if !located { for index in places.indices { $0.waypoints[index].clearLocation() } }
            }.waypoints.dropFirst().prefix(3).map(\.location.point.latitude)
        }
        let kept = [37.43, 37.44, 37.44]
        // Those at one place are alike, and without places there is nothing but their order.
        #expect(try await order([2, 3, 5, 4, 6, 0, 1]) == kept)
        #expect(try await order([2, 5, 3, 4, 6, 0, 1], located: false) == kept)
        let turned = await #expect(throws: EngineError.self) { try await order([2, 4, 3, 5, 6, 0, 1]) }
        #expect(turned?.message.hasPrefix("waypoints turns the stops of trip \"x\" round") == true)
        let twice = await #expect(throws: EngineError.self) { try await order([2, 3, 3, 4, 6, 0, 1]) }
        #expect(twice?.message.contains("holds it twice") == true)
    }

    @Test func `nobody joins an exclusive trip that is under way`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1", .with(.sample) { $0.supportedTripTypes = [.shared, .exclusive] })
        try await fixture.createTrip("x", .with(.sample) { $0.vehicleID = "veh-1" })
        try await fixture.updateTrip("x", ["trip_status"]) { $0.tripStatus = .enrouteToDropoff }
        typealias Kind = Maps_Fleetengine_V1_WaypointType
        func join(_ order: [(String, Kind)]) async -> EngineError.Code? {
            await code {
                try await fixture.createTrip(
                    "a",
                    .with(.sample) {
                        $0.tripType = .shared
                        $0.vehicleID = "veh-1"
                        $0.vehicleWaypoints = order.map { Self.stop($0, $1) }
                    }
                )
            }
        }
        let (pickup, dropoff) = (Kind.pickupWaypointType, Kind.dropOffWaypointType)
        #expect(await join([("a", pickup), ("x", dropoff), ("a", dropoff)]) == .invalidArgument)
        #expect(await join([("x", dropoff), ("a", pickup), ("a", dropoff)]) == nil)
    }

    /// A shared trip "a" with its passengers aboard and no stop left, and another trip behind it.
    private func stopless(before type: TripType) async throws -> EngineFixture {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1", .with(.sample) { $0.supportedTripTypes = [.shared, .exclusive] })
        try await fixture.createTrip(
            "a",
            .with(.sample) {
                $0.tripType = .shared
                $0.vehicleID = "veh-1"
                $0.clearDropoffPoint()
            }
        )
        try await fixture.updateTrip("a", ["trip_status"]) { $0.tripStatus = .enrouteToDropoff }
        try await fixture.createTrip(
            "b",
            .with(.sample) {
                $0.tripType = type
                $0.vehicleID = "veh-1"
            }
        )
        return fixture
    }

    @Test(arguments: [(TripType.exclusive, ["a", "b", "b"]), (.shared, ["b", "b", "a"])])
    func `a stop that passengers aboard gain gives no exclusive trip company`(
        type: TripType, order: [String]
    ) async throws {
        let fixture = try await self.stopless(before: type)
        try await fixture.updateTrip("a", ["dropoff_point"]) { $0.dropoffPoint = .at(37.46, -122.07) }
        let plan = try await fixture.vehicle("veh-1").waypoints
        #expect(plan.map(\.tripID) == order)
        try await fixture.updateVehicle("veh-1", ["waypoints"]) { $0.waypoints = plan }
        #expect(try await fixture.vehicle("veh-1").waypoints == plan)
    }

    @Test(arguments: [
        (TripType.exclusive, TripType.exclusive, ["b", "a", "a"]), (.exclusive, .shared, ["b", "a", "a"]),
        (.shared, .exclusive, ["b", "a", "a"]), (.shared, .shared, ["a", "a", "b"]),
    ])
    func `passengers who are picked up out of turn leave first where they would have company on an exclusive trip`(
        first: TripType, second: TripType, order: [String]
    ) async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1", .with(.sample) { $0.supportedTripTypes = [.shared, .exclusive] })
        for (trip, type) in [("a", first), ("b", second)] {
            try await fixture.createTrip(
                trip,
                .with(.sample) {
                    $0.tripType = type
                    $0.vehicleID = "veh-1"
                }
            )
        }
        for status in [TripStatus.enrouteToPickup, .arrivedAtPickup] {
            try await fixture.updateTrip("b", ["trip_status"]) { $0.tripStatus = status }
            #expect(try await fixture.vehicle("veh-1").waypoints.map(\.tripID) == ["a", "a", "b", "b"])
        }
        try await fixture.updateTrip("b", ["trip_status"]) { $0.tripStatus = .enrouteToDropoff }
        let plan = try await fixture.vehicle("veh-1").waypoints
        #expect(plan.map(\.tripID) == order)
        try await fixture.updateVehicle("veh-1", ["waypoints"]) { $0.waypoints = plan }
        #expect(try await fixture.vehicle("veh-1").waypoints == plan)
    }

    @Test func `the order that a vehicle has is taken also where no order could be`() async throws {
        let fixture = try await self.shared()
        try await fixture.createTrip("b", .with(.sample) { $0.vehicleID = "veh-1" })
        for trip in ["a", "b"] {
            try await fixture.updateTrip(trip, ["trip_status"]) { $0.tripStatus = .enrouteToDropoff }
        }
        let plan = try await fixture.vehicle("veh-1").waypoints
        #expect(plan.map(\.tripID) == ["b", "a"])
        func take(_ order: [TripWaypoint]) async -> EngineError.Code? {
            await code { try await fixture.updateVehicle("veh-1", ["waypoints"]) { $0.waypoints = order } }
        }
        #expect(await take(plan) == nil)
        #expect(await take(plan.reversed()) == .invalidArgument)
        #expect(try await fixture.vehicle("veh-1").waypoints == plan)
    }

    @Test(arguments: [nil, LatLng.at(1, 1)])
    func `passengers without a stop left do not see the way to the next ones`(end: LatLng?) async throws {
        let fixture = try await self.stopless(before: .shared)
        try await fixture.updateVehicle(
            "veh-1",
            ["current_route_segment", "last_location"] + (end == nil ? [] : ["current_route_segment_end_point"])
        ) {
            $0.currentRouteSegment = "AhY"
            $0.lastLocation.location = .at(37.4, -122)
            if let end { $0.currentRouteSegmentEndPoint.location.point = end }
        }
        let (a, b) = (
            try await fixture.trip("a") { $0.routeFormatType = .encodedPolylineType },
            try await fixture.trip("b") { $0.routeFormatType = .encodedPolylineType }
        )
        #expect(b.currentRouteSegment == "AhY" && b.lastLocationSnappable)
        #expect(b.currentRouteSegmentEndPoint.tripID == (end == nil ? "b" : ""))
        #expect(a.lastLocation.location == b.lastLocation.location)
        #expect(a.currentRouteSegment.isEmpty && !a.hasCurrentRouteSegmentEndPoint && !a.lastLocationSnappable)
        #expect(try await !fixture.trip("a").hasCurrentRouteSegmentEndPoint)
    }

    @Test func `who reads by the version learns that a way without a segment ends`() async throws {
        let fixture = try await self.shared()
        try await fixture.updateTrip("a", ["dropoff_point"]) { $0.clearDropoffPoint() }
        for segment in ["AhY", ""] {
            try await fixture.updateVehicle("veh-1", ["current_route_segment", "last_location"]) {
                $0.currentRouteSegment = segment
                $0.lastLocation.location = .at(37.4, -122)
            }
        }
        let known = try await fixture.trip("a")
        #expect(known.route.count == 2)
        fixture.advance(by: 1)
        try await fixture.updateTrip("a", ["trip_status"]) { $0.tripStatus = .enrouteToDropoff }
        let ended = try await fixture.trip("a") { $0.currentRouteSegmentVersion = known.currentRouteSegmentVersion }
        #expect(ended.route.isEmpty)
        #expect(known.currentRouteSegmentVersion < ended.currentRouteSegmentVersion)
    }

    @Test func `a way to a stop behind a trip's last one is not shown to its passengers`() async throws {
        let fixture = try await self.shared()
        try await fixture.createTrip(
            "b",
            .with(.sample) {
                $0.tripType = .shared
                $0.vehicleID = "veh-1"
                $0.pickupPoint = .at(37.5, -122)
            }
        )
        func shown(to end: (String, Maps_Fleetengine_V1_WaypointType)) async throws -> [String] {
            try await fixture.updateVehicle("veh-1", ["current_route_segment", "current_route_segment_end_point"]) {
                $0.currentRouteSegment = "AhY"
                $0.currentRouteSegmentEndPoint = Self.stop(end.0, end.1)
            }
            var segments: [String] = []
            for trip in ["a", "b"] {
                segments.append(
                    try await fixture.trip(trip) { $0.routeFormatType = .encodedPolylineType }.currentRouteSegment)
            }
            return segments
        }
        #expect(try await shown(to: ("a", .pickupWaypointType)) == ["AhY", "AhY"])
        #expect(try await shown(to: ("a", .unknownWaypointType)) == ["AhY", "AhY"])
        #expect(try await shown(to: ("b", .unknownWaypointType)) == ["", "AhY"])
        #expect(try await shown(to: ("b", .pickupWaypointType)) == ["", "AhY"])
        #expect(try await shown(to: ("", .unknownWaypointType)) == ["AhY", "AhY"])
    }

    @Test func `readers by the version get the way once it is theirs, and lose it when it is not`() async throws {
        let fixture = try await self.stopless(before: .shared)
        try await fixture.updateVehicle("veh-1", ["current_route_segment", "last_location"]) {
            $0.currentRouteSegment = "AhY"
            $0.lastLocation.location = .at(37.4, -122)
        }
        func poll(
            after known: Trip, _ format: Maps_Fleetengine_V1_PolylineFormatType = .encodedPolylineType
        ) async throws -> Trip {
            try await fixture.trip("a") {
                $0.routeFormatType = format
                $0.currentRouteSegmentVersion = known.currentRouteSegmentVersion
            }
        }
        let hidden = try await poll(after: Trip())
        try await fixture.updateTrip("a", ["dropoff_point"]) { $0.dropoffPoint = .at(37.46, -122.07) }
        #expect(try await poll(after: hidden, .latLngListType).route.count == 2)
        let shown = try await poll(after: hidden)
        #expect(shown.currentRouteSegment == "AhY")
        #expect(try await poll(after: shown).currentRouteSegment.isEmpty)
        try await fixture.updateTrip("a", ["dropoff_point"])
        let lost = try await poll(after: shown)
        #expect(lost.currentRouteSegment.isEmpty && lost.currentRouteSegmentVersion != shown.currentRouteSegmentVersion)
    }

    @Test(arguments: [TripStatus.enrouteToDropoff, .canceled])
    func `a segment goes with the stop that it ends at, though that is not the first`(status: TripStatus) async throws {
        let fixture = try await self.shared(["a", "b"])
        let mask = ["current_route_segment", "current_route_segment_end_point", "remaining_distance_meters"]
        let led = try await fixture.updateVehicle("veh-1", mask) {
            $0.currentRouteSegment = "AhY"
            $0.currentRouteSegmentEndPoint = Self.stop("b", .pickupWaypointType)
            $0.remainingDistanceMeters = 700
        }
        #expect(led.currentRouteSegment == "AhY" && led.currentRouteSegmentEndPoint.tripID == "b")
        fixture.advance(by: 1)
        try await fixture.updateTrip("b", ["trip_status"]) { $0.tripStatus = status }
        let vehicle = try await fixture.vehicle("veh-1")
        #expect(vehicle.currentRouteSegment.isEmpty && !vehicle.hasCurrentRouteSegmentEndPoint)
        #expect(led.currentRouteSegmentVersion < vehicle.currentRouteSegmentVersion)
        // The first stop is as far as before.
        #expect(vehicle.remainingDistanceMeters.value == 700)
        #expect(try await fixture.trip("a").currentRouteSegmentEndPoint.tripID == "a")
    }

    @Test func `time and distance to the last stop go with a canceled trip`() async throws {
        let fixture = try await self.shared(["a", "b"])
        try await fixture.updateVehicle("veh-1", ["remaining_distance_meters", "remaining_time_seconds"]) {
            $0.remainingDistanceMeters = 700
            $0.remainingTimeSeconds = 90
        }
        // The first stop is one of the other trip.
        try await fixture.updateTrip("b", ["trip_status"]) { $0.tripStatus = .canceled }
        let busy = try await fixture.vehicle("veh-1")
        #expect(busy.remainingDistanceMeters.value == 700 && busy.hasEtaToFirstWaypoint)
        try await fixture.updateTrip("a", ["trip_status"]) { $0.tripStatus = .canceled }
        let idle = try await fixture.vehicle("veh-1")
        #expect(!idle.hasRemainingDistanceMeters && !idle.hasEtaToFirstWaypoint)
    }

    @Test func `vehicle_waypoints are ignored while no vehicle is assigned`() async throws {
        let fixture = EngineFixture()
        let trip = try await fixture.createTrip(
            "b", .with(.sample) { $0.vehicleWaypoints = [Self.stop("x", .pickupWaypointType)] })
        #expect(trip.vehicleWaypoints.isEmpty)
    }

    @Test func `a vehicle that does not exist cannot be assigned`() async throws {
        let fixture = EngineFixture()
        #expect(
            await code { try await fixture.createTrip("trip-1", .with(.sample) { $0.vehicleID = "x" }) } == .notFound)
        #expect(await code { try await fixture.trip("trip-1") } == .notFound)
        try await fixture.createTrip("trip-1")
        #expect(
            await code { try await fixture.updateTrip("trip-1", ["vehicle_id"]) { $0.vehicleID = "x" } } == .notFound)
        #expect(try await fixture.trip("trip-1").vehicleID.isEmpty)
    }

    @Test func `without a position a trip shows what the driver reported of the way to its first stop`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1", .with(.sample) { $0.clearLastLocation() })
        try await fixture.createTrip("trip-1", .with(.sample) { $0.vehicleID = "veh-1" })
        #expect(try await !fixture.trip("trip-1").hasEtaToFirstWaypoint)
        try await fixture.updateVehicle("veh-1", ["remaining_distance_meters"]) { $0.remainingDistanceMeters = 1200 }
        let near = try await fixture.trip("trip-1")
        #expect(near.remainingDistanceMeters.value == 1200)
        #expect(!near.hasEtaToFirstWaypoint)
        #expect(!near.hasPickupTime)
        try await fixture.updateVehicle("veh-1", ["remaining_time_seconds"]) { $0.remainingTimeSeconds = 90 }
        let timed = try await fixture.trip("trip-1")
        #expect(timed.etaToFirstWaypoint.date == Self.start + 90)
        #expect(timed.remainingTimeToFirstWaypoint.seconds == 90)
        #expect(timed.remainingDistanceMeters.value == 1200)
        #expect(timed.pickupTime == timed.etaToFirstWaypoint)
        // From the pickup on the way is estimated as ever.
        #expect(timed.dropoffTime.date > Self.start + 90)
    }

    @Test func `messages name a status and a kind of stop as the contract does`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        try await fixture.createTrip("trip-1", .with(.sample) { $0.vehicleID = "veh-1" })
        let status = await #expect(throws: EngineError.self) {
            try await fixture.updateTrip("trip-1", ["trip_status"]) {
                $0.tripStatus = .enrouteToIntermediateDestination
            }
        }
        #expect(status?.message.hasPrefix("trip_status is ENROUTE_TO_INTERMEDIATE_DESTINATION, ") == true)
        let order = await #expect(throws: EngineError.self) {
            try await fixture.updateTrip("trip-1", ["vehicle_waypoints"]) {
                $0.vehicleWaypoints = [
                    .with {
                        $0.tripID = "other"
                        $0.waypointType = .dropOffWaypointType
                    }
                ]
            }
        }
        #expect(order?.message.hasPrefix("vehicle_waypoints holds a DROP_OFF_WAYPOINT_TYPE of trip") == true)
    }
}
