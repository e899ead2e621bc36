// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Foundation
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct VehicleSearchTests {
    /// The search of the published role scripts.
    static func request(_ change: (inout SearchVehicles.Request) -> Void = { _ in }) -> SearchVehicles.Request {
        var request = SearchVehicles.Request.with {
            $0.parent = "providers/acme"
            $0.pickupPoint = .at(37.419646, -122.073885)
            $0.pickupRadiusMeters = 400
            $0.count = 5
            $0.minimumCapacity = 1
            $0.tripTypes = [.exclusive]
            $0.vehicleTypes = [.with { $0.category = .auto }]
            $0.orderBy = .pickupPointDistance
        }
        change(&request)
        return request
    }

    private func search(
        _ fixture: EngineFixture, _ change: (inout SearchVehicles.Request) -> Void = { _ in }
    ) async throws -> [String] {
        try await fixture.engine.perform(SearchVehicles.self, Self.request(change), token: serverToken)
            .matches.map { String($0.vehicle.name.split(separator: "/").last ?? "") }
    }

    @Test func `a vehicle is found right after its creation`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("near")
        let response = try await fixture.engine.perform(SearchVehicles.self, Self.request(), token: serverToken)
        let match = try #require(response.matches.first)
        #expect(response.matches.count == 1)
        #expect(match.vehicle.name == "providers/acme/vehicles/near")
        #expect(match.hasVehiclePickupStraightLineDistanceMeters)
        #expect(match.tripType == .exclusive)
        #expect(match.vehicleMatchType == .exclusive)
        #expect(match.orderedBy == .pickupPointDistance)
        #expect(match.requestedOrderedBy == .pickupPointDistance)
    }

    @Test func `a customer sees roughly where a vehicle is, and nothing of its trips`() async throws {
        let fixture = EngineFixture()
        var vehicle = Vehicle.sample
        vehicle.lastLocation = .at(37.419645, -122.073884)
        vehicle.lastLocation.heading = 90
        vehicle.lastLocation.speed = 12.0
        vehicle.licensePlate.countryCode = "US"
        vehicle.licensePlate.lastCharacter = "3"
        try await fixture.createVehicle("near", vehicle)
        let response = try await fixture.engine.perform(
            SearchVehicles.self, Self.request(), token: "consumer|tripid=trip-1")
        let match = try #require(response.matches.first)
        let expected = Vehicle.with {
            $0.name = "providers/acme/vehicles/near"
            $0.vehicleState = vehicle.vehicleState
            $0.supportedTripTypes = vehicle.supportedTripTypes
            $0.maximumCapacity = vehicle.maximumCapacity
            $0.vehicleType = vehicle.vehicleType
            $0.lastLocation = .at(37.42, -122.074)
            $0.lastLocation.heading = 90
            $0.lastLocation.serverTime = .init(date: TestClock.start)
        }
        #expect(match.vehicle == expected)
        #expect(match.vehicleTripsWaypoints.isEmpty)
        let whole = try await fixture.engine.perform(SearchVehicles.self, Self.request(), token: serverToken)
        #expect(whole.matches.first?.vehicle.hasLicensePlate == true)
        #expect(whole.matches.first?.vehicleTripsWaypoints.count == 2)
    }

    @Test func `all that a customer's search tells follows from the rounded places`() async throws {
        let fixture = EngineFixture()
        for (name, latitude) in [("near", 37.4196), ("far", 37.4204)] {
            try await fixture.createVehicle(
                name,
                .with(.sample) {
                    $0.lastLocation = .at(latitude, -122.074)
                    $0.backToBackEnabled = true
                }
            )
            try await fixture.createTrip(
                name,
                .with(.sample) {
                    $0.vehicleID = name
                    $0.dropoffPoint = .at(latitude + 0.045, -122.074)
                }
            )
            try await fixture.updateTrip(name, ["trip_status"]) { $0.tripStatus = .enrouteToDropoff }
        }
        func matches(_ token: String) async throws -> [VehicleSearch.Match] {
            let request = Self.request {
                $0.pickupPoint = .at(37.4165, -122.074)
                $0.dropoffPoint = .at(37.5, -122)
                $0.includeBackToBack = true
            }
            return try await fixture.engine.perform(SearchVehicles.self, request, token: token).matches
        }
        #expect(try await matches(serverToken).map(\.vehicle.name) == ["providers/acme/vehicles/near"])
        let shown = try await matches("consumer|tripid=trip-1")
        #expect(shown.map(\.vehicle.name) == ["providers/acme/vehicles/far", "providers/acme/vehicles/near"])
        #expect(shown.map(\.vehiclePickupStraightLineDistanceMeters.value) == [389, 389])
        #expect(Set(shown.map(\.vehiclePickupDistanceMeters.value)).count == 1)
        #expect(Set(shown.map(\.vehiclePickupEta)).count == 1)
        #expect(Set(shown.map(\.vehicleDropoffEta)).count == 1)
    }

    @Test func `who is aboard takes room from a shared ride`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("pool", .with(.sample) { $0.supportedTripTypes = [.shared] })
        try await fixture.createTrip(
            "trip-1",
            .with(.sample) {
                $0.tripType = .shared
                $0.numberOfPassengers = 3
                $0.vehicleID = "pool"
            }
        )
        func found(_ capacity: Int32) async throws -> [String] {
            try await self.search(fixture) {
                $0.tripTypes = [.shared]
                $0.dropoffPoint = .at(37.5, -122)
                $0.currentTripsPresent = .any
                $0.minimumCapacity = capacity
            }
        }
        #expect(try await found(1) == ["pool"])
        #expect(try await found(2).isEmpty)
    }

    @Test func `the waypoints of a match are the way that its time is of`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("idle")
        try await fixture.createVehicle("busy", .with(.sample) { $0.backToBackEnabled = true })
        try await fixture.createTrip("trip-1", .with(.sample) { $0.vehicleID = "busy" })
        try await fixture.updateTrip("trip-1", ["trip_status"]) { $0.tripStatus = .enrouteToDropoff }
        let request = Self.request { $0.includeBackToBack = true }
        let matches = try await fixture.engine.perform(SearchVehicles.self, request, token: serverToken).matches
        let ways = Dictionary(uniqueKeysWithValues: matches.map { ($0.vehicleMatchType, $0) })
        let (idle, busy) = (try #require(ways[.exclusive]), try #require(ways[.backToBack]))
        let (start, dropoff) = (Vehicle.sample.lastLocation.location, Trip.sample.dropoffPoint.point)
        let pickup = request.pickupPoint.point
        #expect(idle.vehicleTripsWaypoints.map(\.latLng) == [start, pickup])
        #expect(busy.vehicleTripsWaypoints.map(\.latLng) == [start, dropoff, pickup])
        for match in [idle, busy] { #expect(match.vehicleTripsWaypoints.last?.eta == match.vehiclePickupEta) }
    }

    @Test func `only vehicles that fit are found`() async throws {
        let fixture = EngineFixture()
        let misfits: [(String, (inout Vehicle) -> Void)] = [
            ("offline", { $0.vehicleState = .offline }),
            ("far", { $0.lastLocation = .at(37.4260, -122.073884) }),
            ("corner", { $0.lastLocation = .at(37.4229, -122.0698) }),
            ("shared", { $0.supportedTripTypes = [.shared] }),
            ("small", { $0.maximumCapacity = 3 }),
            ("truck", { $0.vehicleType.category = .truck }),
            ("nowhere", { $0.clearLastLocation() }),
        ]
        for (name, change) in misfits {
            var vehicle = Vehicle.sample
            change(&vehicle)
            try await fixture.createVehicle(name, vehicle)
        }
        try await fixture.createVehicle("fits")
        #expect(try await self.search(fixture) { $0.minimumCapacity = 4 } == ["fits"])
    }

    @Test func `a vehicle that has been silent for longer than asked for is left out`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        fixture.advance(by: 300)
        #expect(try await self.search(fixture) == ["veh-1"])
        fixture.advance(by: 1)
        #expect(try await self.search(fixture) == [])
        #expect(try await self.search(fixture) { $0.maximumStaleness.seconds = 600 } == ["veh-1"])
        try await fixture.updateVehicle("veh-1", ["last_location"]) { $0.lastLocation = .at(37.419645, -122.073884) }
        #expect(try await self.search(fixture) == ["veh-1"])
    }

    @Test func `the nearest come first, and no more than asked for`() async throws {
        let fixture = EngineFixture()
        for (name, latitude) in [("c", 37.4220), ("a", 37.4197), ("b", 37.4205)] {
            try await fixture.createVehicle(name, .with(.sample) { $0.lastLocation = .at(latitude, -122.073885) })
        }
        #expect(try await self.search(fixture) == ["a", "b", "c"])
        #expect(try await self.search(fixture) { $0.count = 2 } == ["a", "b"])
    }

    /// A fixture with vehicles in a row, the nearest to the pickup first.
    private static func row(of count: Int, _ roads: KnownRoads) async throws -> EngineFixture {
        let fixture = EngineFixture(router: roads)
        for number in 0..<count {
            let latitude = 37.419646 + 0.00004 * Double(number)
            try await fixture.createVehicle(
                String(format: "v%02d", number), .with(.sample) { $0.lastLocation = .at(latitude, -122.073885) })
        }
        return fixture
    }

    @Test func `roads rank the nearest vehicles, which alone are asked for, the nearest first`() async throws {
        // Each vehicle is quicker than the nearer ones.
        let roads = KnownRoads { leg in 1000 - (leg.start.latitude - 37.419646) / 0.00004 * 10 }
        let fixture = try await Self.row(of: 80, roads)
        for _ in 0..<2 {
            let found = try await self.search(fixture) { $0.orderBy = .pickupPointEta }
            #expect(found == ["v49", "v48", "v47", "v46", "v45"])
        }
        let asked = try #require(roads.asked.first)
        #expect(roads.asked.count == 1)
        #expect(asked.count == 50)
        #expect(asked.map(\.start.latitude) == asked.map(\.start.latitude).sorted())
    }

    @Test func `the roads of three vehicles are asked for, for each one that is wanted of many`() async throws {
        let roads = KnownRoads { _ in 60 }
        let fixture = try await Self.row(of: 80, roads)
        let found = try await self.search(fixture) {
            $0.orderBy = .pickupPointEta
            $0.count = 20
        }
        #expect(found.count == 20)
        #expect(roads.asked.map(\.count) == [60])
    }

    @Test func `where one road is lacking all vehicles are ranked by straight lines`() async throws {
        let roads = KnownRoads { leg in leg.start.latitude > 37.41985 ? nil : 1000 }
        let fixture = try await Self.row(of: 10, roads)
        let request = Self.request { $0.orderBy = .pickupPointEta }
        let matches = try await fixture.engine.perform(SearchVehicles.self, request, token: serverToken).matches
        #expect(matches.map(\.vehicle.name) == (0..<5).map { "providers/acme/vehicles/v0\($0)" })
        #expect(matches.map(\.vehiclePickupEta.seconds) == matches.map(\.vehiclePickupEta.seconds).sorted())
        #expect(matches.allSatisfy { $0.vehiclePickupEta.date < TestClock.start + 60 })
    }

    @Test func `an order by straight lines asks for the roads of its matches alone`() async throws {
        let roads = KnownRoads { _ in 60 }
        let fixture = try await Self.row(of: 20, roads)
        #expect(
            try await self.search(fixture) { $0.orderBy = .pickupPointStraightDistance }
                == ["v00", "v01", "v02", "v03", "v04"])
        #expect(roads.asked.map(\.count) == [5])
    }

    @Test func `more types and attributes than a search can mean are refused`() async throws {
        func lists(_ count: Int, of size: Int) -> [Maps_Fleetengine_V1_VehicleAttributeList] {
            let attribute = VehicleAttribute.with { $0.key = "a" }
            let list = Maps_Fleetengine_V1_VehicleAttributeList.with {
                $0.attributes = Array(repeating: attribute, count: size)
            }
            return Array(repeating: list, count: count)
        }
        func problem(_ change: (inout SearchVehicles.Request) -> Void) async throws -> String? {
            do {
                _ = try await self.search(EngineFixture(), change)
                return nil
            } catch let error as EngineError {
                return error.code == .invalidArgument ? error.metadata["field"] : error.description
            }
        }
        let auto = Vehicle.VehicleType.with { $0.category = .auto }
        #expect(try await problem { $0.vehicleTypes = Array(repeating: auto, count: 50) } == nil)
        #expect(try await problem { $0.vehicleTypes = Array(repeating: auto, count: 51) } == "vehicle_types")
        for (count, size, isRefused) in [(50, 10, false), (51, 1, true), (1, 50, false), (1, 51, true), (11, 50, true)]
        {
            #expect(
                try await problem { $0.requiredOneOfAttributes = lists(count, of: size) }
                    == (isRefused ? "required_one_of_attributes" : nil))
            #expect(
                try await problem { $0.requiredOneOfAttributeSets = lists(count, of: size) }
                    == (isRefused ? "required_one_of_attribute_sets" : nil))
        }
        #expect(throws: EngineError.self) {
            try AttributeCriteria(
                ListVehicles.Request.with { $0.requiredOneOfAttributes = Array(repeating: "a:b", count: 51) })
        }
    }

    @Test func `vehicles with trips are found as the request allows`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle(
            "busy",
            .with(.sample) {
                $0.supportedTripTypes = [.exclusive, .shared]; $0.backToBackEnabled = true
            })
        try await fixture.createTrip("trip-1", .with(.sample) { $0.vehicleID = "busy" })
        #expect(try await self.search(fixture) == [])
        #expect(try await self.search(fixture) { $0.includeBackToBack = true } == [])
        try await fixture.updateTrip("trip-1", ["trip_status"]) { $0.tripStatus = .enrouteToDropoff }
        #expect(try await self.search(fixture) { $0.includeBackToBack = true } == ["busy"])
        #expect(try await self.search(fixture) == [])
        for isEnabled in [false, true] {
            try await fixture.updateVehicle("busy", ["back_to_back_enabled"]) { $0.backToBackEnabled = isEnabled }
            let request = Self.request { $0.includeBackToBack = true }
            let match = try await fixture.engine.perform(SearchVehicles.self, request, token: serverToken).matches.first
            #expect(match?.vehicleMatchType == (isEnabled ? .backToBack : nil))
        }
        func shared(_ present: SearchVehicles.Request.CurrentTripsPresent) async throws -> [String] {
            try await self.search(fixture) {
                $0.tripTypes = [.shared]
                $0.dropoffPoint = .at(37.5, -122)
                $0.currentTripsPresent = present
            }
        }
        #expect(try await shared(.any) == ["busy"])
        #expect(try await shared(.none) == [])
    }

    @Test func `only a vehicle with a single trip is found for after it`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle(
            "busy",
            .with(.sample) {
                $0.supportedTripTypes = [.exclusive, .shared]
                $0.backToBackEnabled = true
            })
        for (trip, found) in [("trip-1", ["busy"]), ("trip-2", [])] {
            try await fixture.createTrip(
                trip,
                .with(.sample) {
                    $0.tripType = .shared
                    $0.vehicleID = "busy"
                })
            try await fixture.updateTrip(trip, ["trip_status"]) { $0.tripStatus = .enrouteToDropoff }
            #expect(try await self.search(fixture) { $0.includeBackToBack = true } == found)
        }
    }

    @Test func `a vehicle with more than five trips or ten stops takes no more`() async throws {
        let fixture = EngineFixture()
        func match(of vehicle: String) async throws -> VehicleSearch.Match.VehicleMatchType? {
            let request = Self.request {
                $0.tripTypes = [.shared]
                $0.dropoffPoint = .at(37.5, -122)
                $0.currentTripsPresent = .any
            }
            return try await fixture.engine.perform(SearchVehicles.self, request, token: serverToken).matches
                .first { $0.vehicle.name == "providers/acme/vehicles/\(vehicle)" }?.vehicleMatchType
        }
        func add(_ trip: String, to vehicle: String, type: TripType = .shared, destinations: Int = 0) async throws {
            try await fixture.createTrip(
                trip,
                .with(.sample) {
                    $0.tripType = type
                    $0.vehicleID = vehicle
                    $0.numberOfPassengers = 0
                    $0.intermediateDestinations = Array(repeating: .at(37.43, -122.07), count: destinations)
                })
        }
        for vehicle in ["trips", "stops"] {
            try await fixture.createVehicle(vehicle, .with(.sample) { $0.supportedTripTypes = [.shared, .exclusive] })
        }
        for number in 1...5 { try await add("trip-\(number)", to: "trips") }
        #expect(try await match(of: "trips") == .carpool)
        try await add("trip-6", to: "trips")
        // With two that are picked up the stops are ten, and the trips one too many.
        for trip in ["trip-1", "trip-2"] {
            try await fixture.updateTrip(trip, ["trip_status"]) { $0.tripStatus = .enrouteToDropoff }
        }
        #expect(try await fixture.vehicle("trips").waypoints.count == 10)
        #expect(try await match(of: "trips") == nil)
        // Trips for which nobody else rides along may have more stops than two.
        try await add("long", to: "stops", type: .exclusive, destinations: 8)
        #expect(try await match(of: "stops") == .carpoolBackToBack)
        try await add("short", to: "stops", type: .exclusive)
        #expect(try await fixture.vehicle("stops").waypoints.count == 12)
        #expect(try await match(of: "stops") == nil)
        try await fixture.updateTrip("short", ["trip_status"]) { $0.tripStatus = .enrouteToDropoff }
        #expect(try await fixture.vehicle("stops").waypoints.count == 11)
        #expect(try await match(of: "stops") == nil)
    }

    @Test(arguments: [
        (TripType.exclusive, TripType.shared, VehicleSearch.Match.VehicleMatchType.carpoolBackToBack),
        (.shared, .exclusive, .carpoolBackToBack), (.shared, .shared, .carpool),
    ])
    func `an exclusive ride has no company, whichever of both it is`(
        present: TripType, wanted: TripType, type: VehicleSearch.Match.VehicleMatchType
    ) async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("busy", .with(.sample) { $0.supportedTripTypes = [.exclusive, .shared] })
        try await fixture.createTrip(
            "trip-1",
            .with(.sample) {
                $0.vehicleID = "busy"
                $0.tripType = present
            })
        try await fixture.updateTrip("trip-1", ["trip_status"]) { $0.tripStatus = .enrouteToDropoff }
        let request = Self.request {
            $0.tripTypes = [wanted]
            $0.dropoffPoint = .at(37.5, -122)
            $0.currentTripsPresent = .any
        }
        let match = try #require(
            try await fixture.engine.perform(SearchVehicles.self, request, token: serverToken).matches.first)
        #expect(match.vehicleMatchType == type)
        // To the drop-off and back, or at once.
        #expect((match.vehiclePickupDistanceMeters.value > 10_000) == (type == .carpoolBackToBack))
        #expect(match.vehicleTripsWaypoints.count == (type == .carpoolBackToBack ? 3 : 2))
    }

    @Test func `a vehicle whose trip ends nobody knows where is not offered for after it`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("busy", .with(.sample) { $0.backToBackEnabled = true })
        try await fixture.createTrip(
            "trip-1",
            .with(.sample) {
                $0.vehicleID = "busy"
                $0.clearDropoffPoint()
            })
        try await fixture.updateTrip("trip-1", ["trip_status"]) { $0.tripStatus = .enrouteToDropoff }
        #expect(try await self.search(fixture) { $0.includeBackToBack = true } == [])
    }

    @Test func `an answer holds as many vehicles as clients of gRPC take`() async throws {
        let fixture = EngineFixture()
        for number in 1...50 {
            try await fixture.createVehicle("veh-\(number)")
            try await fixture.updateVehicle("veh-\(number)", ["current_route_segment"]) {
                $0.currentRouteSegment = String(repeating: "x", count: 100_000)
            }
        }
        let request = Self.request { $0.count = 50 }
        let response = try await fixture.engine.perform(SearchVehicles.self, request, token: serverToken)
        let bytes: [UInt8] = try response.serializedBytes()
        let (least, most) = (2 << 20, 4 << 20)
        #expect(bytes.count > least && bytes.count < most)
        #expect(Paging.whatFits(Array(repeating: response, count: 2)).count == 1)
    }

    @Test func `a vehicle that finishes a trip first comes later`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("busy", .with(.sample) { $0.backToBackEnabled = true })
        try await fixture.createVehicle("idle")
        try await fixture.createTrip("trip-1", .with(.sample) { $0.vehicleID = "busy" })
        try await fixture.updateTrip("trip-1", ["trip_status"]) { $0.tripStatus = .enrouteToDropoff }
        let found = try await self.search(fixture) {
            $0.includeBackToBack = true
            $0.orderBy = .pickupPointEta
        }
        #expect(found == ["idle", "busy"])
    }

    @Test(
        arguments: [
            ("pickup_point", { @Sendable in $0.clearPickupPoint() }),
            ("pickup_radius_meters", { $0.pickupRadiusMeters = 399 }),
            ("pickup_radius_meters", { $0.pickupRadiusMeters = 10_001 }),
            ("count", { $0.count = 0 }), ("count", { $0.count = 51 }),
            ("minimum_capacity", { $0.minimumCapacity = 0 }),
            ("trip_types", { $0.tripTypes = [] }), ("trip_types", { $0.tripTypes = [.exclusive, .shared] }),
            ("trip_types", { $0.tripTypes = [.unknownTripType] }),
            ("vehicle_types", { $0.vehicleTypes = [] }), ("vehicle_types", { $0.vehicleTypes = [.init()] }),
            ("order_by", { $0.orderBy = .unknownVehicleMatchOrder }),
            ("dropoff_point", { $0.orderBy = .dropoffPointEta }),
            ("dropoff_point", { $0.tripTypes = [.shared] }),
            (
                "current_trips_present",
                {
                    $0.tripTypes = [.shared]; $0.dropoffPoint = .at(0, 0)
                }
            ),
            (
                "include_back_to_back",
                {
                    $0.includeBackToBack = true; $0.currentTripsPresent = .none
                }
            ),
            ("maximum_staleness", { $0.maximumStaleness.seconds = 0 }),
            ("filter", { $0.filter = "name = \"x\"" }),
            (
                "filter",
                {
                    $0.filter = "attributes.a = \"1\""; $0.requiredAttributes = [.init()]
                }
            ),
        ] as [(String, @Sendable (inout SearchVehicles.Request) -> Void)])
    func `a malformed search is refused by the name of its field`(
        field: String, change: @Sendable (inout SearchVehicles.Request) -> Void
    ) async throws {
        let error = await #expect(throws: EngineError.self) {
            _ = try await self.search(EngineFixture(), change)
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.metadata["field"] == field)
    }

    @Test func `attributes narrow a search`() async throws {
        let fixture = EngineFixture()
        func attribute(_ key: String, _ value: String) -> VehicleAttribute {
            .with {
                $0.key = key
                $0.value = value
            }
        }
        try await fixture.createVehicle(
            "van", .with(.sample) { $0.attributes = [attribute("class", "van"), attribute("seats", "7")] })
        try await fixture.createVehicle("car", .with(.sample) { $0.attributes = [attribute("class", "car")] })
        #expect(try await self.search(fixture) { $0.requiredAttributes = [attribute("class", "van")] } == ["van"])
        #expect(
            try await self.search(fixture) {
                $0.requiredOneOfAttributes = [
                    .with { $0.attributes = [attribute("class", "van"), attribute("class", "car")] },
                    .with { $0.attributes = [attribute("seats", "7")] },
                ]
            } == ["van"])
        #expect(
            try await self.search(fixture) {
                $0.requiredOneOfAttributeSets = [
                    .with { $0.attributes = [attribute("class", "car"), attribute("seats", "7")] },
                    .with { $0.attributes = [attribute("class", "car")] },
                ]
            } == ["car"])
        #expect(try await self.search(fixture) { $0.filter = "attributes.seats = \"7\"" } == ["van"])
    }

    @Test(arguments: [
        ("attributes.a = \"1\"", true), ("attributes.a != \"1\"", false), ("attributes.c != \"1\"", false),
        ("attributes.a = 1 AND attributes.b = '2'", true), ("attributes.a = 2 OR attributes.b = 2", true),
        ("attributes.a = 2 attributes.b = 2", false), ("NOT attributes.a = 2", true), ("-attributes.a = 1", false),
        ("attributes.a = 2 AND attributes.a = 2 OR attributes.b = 2", false),
        ("(attributes.a = 2 AND attributes.a = 2) OR attributes.b = 2", true),
        ("attributes.name = \"van*\"", true), ("attributes.name = \"*ity\"", true),
        ("attributes.name = \"*x*\"", false),
    ])
    func `filters bind OR tighter than AND`(filter: String, matches: Bool) throws {
        let attributes = ["a": "1", "b": "2", "name": "van city"]
        #expect(try ResourceFilter(filter).matches(attributes: attributes) == matches)
    }

    @Test(arguments: [
        "attributes.a", "attributes. = 1", "a = 1", "attributes.a > 1", "attributes.a = \"1", "(attributes.a = 1",
        "attributes.a = 1)", "AND", "attributes.a = ", "attributes.a ! 1", String(repeating: "(", count: 100),
        String(repeating: "-", count: 10_000),
        Array(repeating: "attributes.a = 1", count: 51).joined(separator: " AND "),
    ])
    func `a malformed filter is refused`(filter: String) {
        #expect(throws: EngineError.self) { try ResourceFilter(filter) }
    }

    @Test func `a box round a point crosses the 180th meridian and stops at the poles`() {
        let crossing = GeoBox(around: .at(0, 179.99), meters: 5000)
        #expect(crossing.contains(latitude: 0, longitude: -179.98))
        #expect(!crossing.contains(latitude: 0, longitude: 0))
        let pole = GeoBox(around: .at(89.99, 10), meters: 5000)
        #expect(pole.contains(latitude: 90, longitude: -170))
    }
}

/// A router that takes as long for a leg as it is told, and never learns of one without a time.
private final class KnownRoads: RoadRouter {
    private struct State {
        var roads: [RouteLeg: KnownRoad] = [:]
        var asked: [[RouteLeg]] = []
    }

    private let seconds: @Sendable (RouteLeg) -> Double?
    private let state = Locked(State())

    init(_ seconds: @escaping @Sendable (RouteLeg) -> Double?) {
        self.seconds = seconds
    }

    /// The legs that were asked for, by call.
    var asked: [[RouteLeg]] { self.state.withLock(\.asked) }

    func known(_ leg: RouteLeg) -> KnownRoad? { self.state.withLock { $0.roads[leg] } }

    func learn(_ legs: [RouteLeg]) async -> Bool {
        var learned: [RouteLeg: KnownRoad] = [:]
        for leg in legs {
            guard let seconds = self.seconds(leg) else { continue }
            learned[leg] = .way(
                RouteEstimate(meters: 1000, duration: .seconds(seconds), path: [leg.start, leg.end]))
        }
        let news = learned
        self.state.withLock { state in
            state.asked.append(legs)
            state.roads.merge(news) { $1 }
        }
        return !news.isEmpty
    }

    func prepare(_ legs: [RouteLeg]) {}
}

extension Message {
    /// A copy of a message with changes.
    static func with(_ message: Self, _ change: (inout Self) -> Void) -> Self {
        var copy = message
        change(&copy)
        return copy
    }
}
