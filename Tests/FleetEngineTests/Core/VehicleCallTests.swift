// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct VehicleCallTests {
    @Test func `a creation takes its fields and ignores the service's own`() async throws {
        let fixture = EngineFixture()
        let created = try await fixture.createVehicle(
            "veh-1",
            .with(.sample) {
                $0.currentTrips = ["forged"]
                $0.waypoints = [.init()]
                $0.currentRouteSegment = "x"
                $0.navigationStatus = .offRoute
                $0.etaToFirstWaypoint = .init(seconds: 5)
                $0.pastLocations = [.at(1, 1)]
                $0.deviceSettings.batteryInfo.batteryPercentage = 50
                $0.backToBackEnabled = true
                $0.licensePlate.countryCode = "US"
                $0.licensePlate.lastCharacter = "-1"
            }
        )
        #expect(created.name == "providers/acme/vehicles/veh-1")
        #expect(created.currentTrips.isEmpty)
        #expect(created.waypoints.isEmpty)
        #expect(created.currentRouteSegment.isEmpty)
        #expect(created.navigationStatus == .unknownNavigationStatus)
        #expect(!created.hasEtaToFirstWaypoint)
        #expect(created.pastLocations.isEmpty)
        #expect(!created.hasDeviceSettings)
        #expect(created.backToBackEnabled)
        #expect(created.licensePlate.lastCharacter == "-1")
        #expect(created.lastLocation.speed.value == 30000)
        #expect(created.lastLocation.serverTime.date == TestClock.start)
        #expect(try await fixture.vehicle("veh-1") == created)
    }

    @Test(
        arguments: [
            ("vehicle_state", { @Sendable in $0.vehicleState = .unknownVehicleState }),
            ("vehicle_state", { $0.vehicleState = .UNRECOGNIZED(9) }),
            ("supported_trip_types", { $0.supportedTripTypes = [] }),
            ("supported_trip_types", { $0.supportedTripTypes = [.exclusive, .unknownTripType] }),
            ("maximum_capacity", { $0.maximumCapacity = 0 }),
            ("vehicle_type", { $0.vehicleType.category = .unknown }),
            ("vehicle_type", { $0.clearVehicleType() }),
            ("license_plate", { $0.licensePlate.lastCharacter = "1" }),
            ("license_plate", { $0.licensePlate.countryCode = "USA" }),
            (
                "license_plate",
                {
                    $0.licensePlate.countryCode = "US"; $0.licensePlate.lastCharacter = "12"
                }
            ),
            (
                "license_plate",
                {
                    $0.licensePlate.countryCode = "US"; $0.licensePlate.lastCharacter = "x"
                }
            ),
            ("device_settings", { $0.deviceSettings.batteryInfo.batteryPercentage = 101 }),
            ("device_settings", { $0.deviceSettings.batteryInfo.batteryPercentage = -1 }),
            ("device_settings", { $0.deviceSettings.batteryInfo.batteryPercentage = .nan }),
            ("navigation_status", { $0.navigationStatus = .UNRECOGNIZED(77) }),
            ("remaining_distance_meters", { $0.remainingDistanceMeters = -1 }),
            ("remaining_time_seconds", { $0.remainingTimeSeconds = -1 }),
            ("last_location.location", { $0.lastLocation = .at(91, 0) }),
            ("last_location.location", { $0.lastLocation = .at(0, -180.1) }),
            ("last_location.location", { $0.lastLocation = .at(.nan, 0) }),
            ("past_locations[0].location", { $0.pastLocations = [.at(0, 500)] }),
            ("last_location.heading", { $0.lastLocation.heading = 360 }),
            ("last_location.heading", { $0.lastLocation.heading = -1 }),
            ("last_location.flp_heading_degrees", { $0.lastLocation.flpHeadingDegrees = 361 }),
            ("last_location.location_sensor", { $0.lastLocation.locationSensor = .fleetEngineLocation }),
            ("last_location.update_time", { $0.lastLocation.updateTime = .init(seconds: .max) }),
            ("last_location.raw_location_time", { $0.lastLocation.rawLocationTime = .init(seconds: 0, nanos: -1) }),
            ("eta_to_first_waypoint", { $0.etaToFirstWaypoint = .init(seconds: .min) }),
            (
                "current_route_segment_end_point.location",
                { $0.currentRouteSegmentEndPoint.location = .at(91, 0) }
            ),
            ("last_location.raw_location", { $0.lastLocation.rawLocation = .at(0, 181) }),
            ("last_location.flp_location", { $0.lastLocation.flpLocation = .at(0, -181) }),
            ("last_location.supplemental_location", { $0.lastLocation.supplementalLocation = .at(-91, 0) }),
            ("last_location.flp_update_time", { $0.lastLocation.flpUpdateTime = .init(seconds: .min) }),
            (
                "last_location.supplemental_location_time",
                { $0.lastLocation.supplementalLocationTime = .init(seconds: .max) }
            ),
            ("last_location.raw_location_sensor", { $0.lastLocation.rawLocationSensor = .fleetEngineLocation }),
            (
                "last_location.supplemental_location_sensor",
                { $0.lastLocation.supplementalLocationSensor = .fleetEngineLocation }
            ),
        ] as [(String, @Sendable (inout Vehicle) -> Void)])
    func `a field out of its range is refused by its name`(
        field: String, change: @Sendable (inout Vehicle) -> Void
    ) async throws {
        let fixture = EngineFixture()
        let created = try await fixture.createVehicle("veh-1")
        let masks = [
            "vehicle_state", "supported_trip_types", "maximum_capacity", "vehicle_type", "license_plate",
            "device_settings", "navigation_status", "remaining_distance_meters", "remaining_time_seconds",
            "last_location", "past_locations", "eta_to_first_waypoint", "current_route_segment_end_point",
        ]
        let error = await #expect(throws: EngineError.self) {
            try await fixture.updateVehicle("veh-1", masks) {
                $0 = .sample
                change(&$0)
            }
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.metadata["field"] == field)
        #expect(try await fixture.vehicle("veh-1") == created)
    }

    // MARK: Locations

    @Test func `a location is stamped, cleaned and renamed`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        fixture.advance(by: 10)
        let location = try await fixture.updateVehicle("veh-1", ["last_location"]) {
            $0.lastLocation = .with(.at(1, 2)) {
                $0.serverTime = .init(seconds: 1)
                $0.isGpsSensorEnabled = true
                $0.timeSinceUpdate = 3
                $0.numStaleUpdates = 4
                $0.isRoadSnapped = true
                $0.roadSnapped = true
                $0.horizontalAccuracy = 1.5
                $0.bearingAccuracy = 2.5
                $0.verticalAccuracy = 3.5
                $0.speedKmph = 36
                $0.rawLocation = .at(1, 2)
                $0.supplementalLocationAccuracy = 0.0
            }
        }.lastLocation
        let expected = VehicleLocation.with(.at(1, 2)) {
            $0.serverTime = .init(date: TestClock.start + 10)
            $0.latlngAccuracy = 1.5
            $0.headingAccuracy = 2.5
            $0.altitudeAccuracy = 3.5
            $0.speed = 10.0
            $0.rawLocation = .at(1, 2)
            $0.rawLocationSensor = .gps
        }
        #expect(location == expected)
    }

    @Test func `a location without a position has no time of the server's, whatever the report says`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        let location = try await fixture.updateVehicle("veh-1", ["last_location"]) {
            $0.lastLocation.heading = 90
            $0.lastLocation.serverTime = .init(seconds: 1)
        }.lastLocation
        #expect(location == .with { $0.heading = 90 })
    }

    @Test(arguments: [["last_location"], ["last_location.supplemental_location"]])
    func `a supplemental position alone is published`(mask: [String]) async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        let location = try await fixture.updateVehicle("veh-1", mask) {
            $0.lastLocation.supplementalLocation = .at(3, 4)
        }.lastLocation
        #expect(location.location == .at(3, 4))
        #expect(location.locationSensor == .customerSuppliedLocation)
        #expect(location.supplementalLocation == .at(3, 4))
        #expect(location.hasHeading == (mask != ["last_location"]))
    }

    @Test func `where no position is known, passengers are shown the raw reading, or else the fused one`() {
        let (raw, fused) = (LatLng.at(1, 2), LatLng.at(3, 4))
        let reported = VehicleLocation.with {
            $0.rawLocation = raw
            $0.rawLocationSensor = .network
            $0.rawLocationTime = .init(seconds: 5)
            $0.rawLocationAccuracy = 6.0
            $0.flpLocation = fused
            $0.flpUpdateTime = .init(seconds: 7)
            $0.flpLatlngAccuracyMeters = 8.0
            $0.heading = 90
        }
        #expect(reported.bare == VehicleLocation.at(1, 2))
        let first = VehicleLocation.with(.at(1, 2)) {
            $0.locationSensor = .network
            $0.updateTime = .init(seconds: 5)
            $0.latlngAccuracy = 6.0
            $0.heading = 90
        }
        #expect(LocationRules.shared(reported) == first)
        let second = VehicleLocation.with(.at(3, 4)) {
            $0.locationSensor = .fusedLocationProvider
            $0.updateTime = .init(seconds: 7)
            $0.latlngAccuracy = 8.0
            $0.heading = 90
        }
        #expect(LocationRules.shared(VehicleLocation.with(reported) { $0.clearRawLocation() }) == second)
        // A position that is known stays.
        let known = VehicleLocation.with(reported) { $0.location = .at(9, 9) }
        #expect(LocationRules.shared(known).location == .at(9, 9))
        #expect(LocationRules.shared(known).locationSensor == .unknownSensor)
    }

    @Test func `a supplemental position comes with its own time, and without one the device's stays`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        let taken = Google_Protobuf_Timestamp(seconds: 1_799_999_900)
        let later = Google_Protobuf_Timestamp(seconds: 1_799_999_950)
        try await fixture.updateVehicle("veh-1", ["last_location"]) {
            $0.lastLocation = .at(1, 2)
            $0.lastLocation.updateTime = taken
        }
        let mask = ["last_location.supplemental_location", "last_location.supplemental_location_time"]
        let cleared = try await fixture.updateVehicle("veh-1", mask).lastLocation
        #expect(cleared.location == .at(1, 2))
        #expect(cleared.updateTime == taken)
        let supplied = try await fixture.updateVehicle("veh-1", mask) {
            $0.lastLocation.supplementalLocation = .at(3, 4)
            $0.lastLocation.supplementalLocationTime = later
        }.lastLocation
        #expect(supplied.location == .at(3, 4))
        #expect(supplied.updateTime == later)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity])
    func `a reading that is no number is refused`(value: Double) async throws {
        let fixture = EngineFixture()
        let created = try await fixture.createVehicle("veh-1")
        let changes: [(String, @Sendable (inout VehicleLocation) -> Void)] = [
            ("speed", { $0.speed = .init(value) }), ("speed_accuracy", { $0.speedAccuracy = .init(value) }),
            ("altitude", { $0.altitude = .init(value) }), ("latlng_accuracy", { $0.latlngAccuracy = .init(value) }),
            ("heading_accuracy", { $0.headingAccuracy = .init(value) }),
            ("altitude_accuracy", { $0.altitudeAccuracy = .init(value) }),
            ("raw_location_accuracy", { $0.rawLocationAccuracy = .init(value) }),
            ("flp_latlng_accuracy_meters", { $0.flpLatlngAccuracyMeters = .init(value) }),
            ("supplemental_location_accuracy", { $0.supplementalLocationAccuracy = .init(value) }),
            ("horizontal_accuracy", { $0.horizontalAccuracy = .init(value) }),
            ("bearing_accuracy", { $0.bearingAccuracy = .init(value) }),
            ("vertical_accuracy", { $0.verticalAccuracy = .init(value) }),
        ]
        for (field, change) in changes {
            let error = await #expect(throws: EngineError.self) {
                try await fixture.updateVehicle("veh-1", ["last_location"]) {
                    $0.lastLocation = .with(.at(1, 2), change)
                }
            }
            #expect(error?.code == .invalidArgument)
            #expect(error?.metadata["field"] == "last_location.\(field)")
            #expect(error?.message.hasPrefix("last_location.\(field) is ") == true)
        }
        #expect(try await fixture.vehicle("veh-1") == created)
    }

    @Test func `a fix that is older than the stored one does not replace it`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        func report(_ latitude: Double, at seconds: Int64?) async throws -> Double {
            try await fixture.updateVehicle("veh-1", ["last_location", "vehicle_state"]) {
                $0.vehicleState = .online
                $0.lastLocation = .at(latitude, 0)
                if let seconds { $0.lastLocation.updateTime = .init(seconds: 1_800_000_000 + seconds) }
            }.lastLocation.location.latitude
        }
        #expect(try await report(1, at: 100) == 1)
        #expect(try await report(2, at: 99) == 1)
        #expect(try await report(3, at: 100) == 3)
        #expect(try await report(4, at: 101) == 4)
        #expect(try await report(5, at: nil) == 5)
    }

    @Test func `a fix from a clock that is far ahead does not keep later ones out`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        func report(_ latitude: Double, ahead seconds: TimeInterval) async throws -> Double {
            fixture.advance(by: 10)
            let time = fixture.clock.now + seconds
            return try await fixture.updateVehicle("veh-1", ["last_location"]) {
                $0.lastLocation = .at(latitude, 0)
                $0.lastLocation.updateTime = .init(date: time)
            }.lastLocation.location.latitude
        }
        #expect(try await report(1, ahead: 86_400) == 1)
        #expect(try await report(2, ahead: 0) == 2)
        // A clock that is a little off is believed.
        #expect(try await report(3, ahead: 300) == 3)
        #expect(try await report(4, ahead: 0) == 3)
        #expect(try await report(5, ahead: 300) == 5)
    }

    // MARK: Attributes

    @Test func `attributes are filled both ways and merged by key`() async throws {
        let fixture = EngineFixture()
        func attribute(_ key: String, _ change: (inout VehicleAttribute) -> Void) -> VehicleAttribute {
            var attribute = VehicleAttribute.with { $0.key = key }
            change(&attribute)
            return attribute
        }
        let created = try await fixture.createVehicle(
            "veh-1",
            .with(.sample) {
                $0.attributes = [
                    attribute("legacy") { $0.value = "v" }, attribute("text") { $0.stringValue = "s" },
                    attribute("flag") { $0.boolValue = true }, attribute("number") { $0.numberValue = 2.5 },
                ]
            }
        )
        #expect(created.attributes.map(\.value) == ["v", "s", "", ""])
        #expect(created.attributes[0].stringValue == "v")
        #expect(created.attributes.map(\.text) == ["v", "s", "true", "2.5"])
        let merged = try await fixture.engine.perform(
            UpdateVehicleAttributes.self,
            .with {
                $0.name = created.name
                $0.attributes = [attribute("text") { $0.value = "t" }, attribute("new") { $0.value = "n" }]
            },
            token: serverToken
        )
        #expect(merged.attributes.map(\.key) == ["legacy", "text", "flag", "number", "new"])
        #expect(merged.attributes[1].stringValue == "t")
        #expect(try await fixture.vehicle("veh-1").attributes == merged.attributes)
        let replaced = try await fixture.updateVehicle("veh-1", ["attributes"]) {
            $0.attributes = [attribute("only") { $0.value = "x" }]
        }
        #expect(replaced.attributes.map(\.key) == ["only"])
    }

    @Test(
        arguments: [
            [.with { $0.key = "a:b" }], [.with { $0.value = "keyless" }],
            [.with { $0.key = "a" }, .with { $0.key = "a" }],
            [
                .with {
                    $0.key = "a"; $0.value = "1"; $0.stringValue = "2"
                }
            ],
            [
                .with {
                    $0.key = "a"; $0.value = "1"; $0.boolValue = true
                }
            ],
            [
                .with {
                    $0.key = "a"; $0.value = String(repeating: "x", count: 255)
                }
            ],
            (0..<101).map { number in .with { $0.key = "k\(number)" } },
        ] as [[VehicleAttribute]])
    func `attributes that break a rule are refused`(attributes: [VehicleAttribute]) {
        #expect(throws: EngineError.self) { try AttributeRules.accept(attributes) }
    }

    @Test func `a hundred attributes of 256 characters are kept, one more by merging is refused`() async throws {
        let fixture = EngineFixture()
        let full = (0..<100).map { number in
            VehicleAttribute.with {
                $0.key = String(1000 + number)
                $0.value = String(repeating: "é", count: 251)
            }
        }
        try await fixture.createVehicle("veh-1", .with(.sample) { $0.attributes = full })
        let outcome = await code {
            try await fixture.engine.perform(
                UpdateVehicleAttributes.self,
                .with {
                    $0.name = "providers/acme/vehicles/veh-1"
                    $0.attributes = [.with { $0.key = "more" }]
                },
                token: serverToken
            )
        }
        #expect(outcome == .invalidArgument)
        #expect(try await fixture.vehicle("veh-1").attributes.count == 100)
    }

    // MARK: Routes

    @Test func `a segment brings its version, and its end is recognised`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        try await fixture.createTrip("trip-1", .with(.sample) { $0.vehicleID = "veh-1" })
        fixture.advance(by: 5)
        let driven = try await fixture.updateVehicle(
            "veh-1", ["current_route_segment", "current_route_segment_end_point", "currentRouteSegmentTraffic"]
        ) {
            $0.currentRouteSegment = "AhYF=="
            $0.currentRouteSegmentTraffic = .init()
            $0.currentRouteSegmentEndPoint.location = .at(37.41965, -122.07389)
        }
        #expect(driven.currentRouteSegment == "AhYF==")
        #expect(driven.currentRouteSegmentVersion.date == TestClock.start + 5)
        #expect(driven.currentRouteSegmentEndPoint.tripID == "trip-1")
        #expect(driven.currentRouteSegmentEndPoint.waypointType == .pickupWaypointType)
        #expect(!driven.hasCurrentRouteSegmentTraffic)

        let alone = try await fixture.updateVehicle("veh-1", ["current_route_segment_end_point"]) {
            $0.currentRouteSegmentEndPoint.tripID = "forged"
        }
        #expect(alone.currentRouteSegmentEndPoint == driven.currentRouteSegmentEndPoint)

        let unnamed = try await fixture.updateVehicle("veh-1", ["current_route_segment"]) {
            $0.currentRouteSegment = "B"
        }
        #expect(unnamed.currentRouteSegmentEndPoint.tripID == "trip-1")

        let cleared = try await fixture.updateVehicle("veh-1", ["current_route_segment"])
        #expect(cleared.currentRouteSegment.isEmpty)
        #expect(!cleared.hasCurrentRouteSegmentEndPoint)
    }

    @Test func `the end of a segment belongs to it, where no trip gives it another`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        let alone = try await fixture.updateVehicle("veh-1", ["current_route_segment_end_point"]) {
            $0.currentRouteSegmentEndPoint.location = .at(37, -122)
        }
        #expect(!alone.hasCurrentRouteSegmentEndPoint)
        let ended = try await fixture.updateVehicle(
            "veh-1", ["current_route_segment", "current_route_segment_end_point"]
        ) {
            $0.currentRouteSegment = "A"
            $0.currentRouteSegmentEndPoint.location = .at(37, -122)
        }
        #expect(ended.currentRouteSegmentEndPoint.location == .at(37, -122))
        let endless = try await fixture.updateVehicle("veh-1", ["current_route_segment"]) {
            $0.currentRouteSegment = "B"
        }
        #expect(!endless.hasCurrentRouteSegmentEndPoint)
    }

    @Test func `remaining time beats the reported ETA`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        let vehicle = try await fixture.updateVehicle(
            "veh-1", ["eta_to_first_waypoint", "remaining_time_seconds", "remaining_distance_meters"]
        ) {
            $0.etaToFirstWaypoint = .init(seconds: 1)
            $0.remainingTimeSeconds = 52
            $0.remainingDistanceMeters = 266
        }
        #expect(vehicle.etaToFirstWaypoint.date == TestClock.start + 52)
        #expect(vehicle.remainingDistanceMeters.value == 266)
        #expect(!vehicle.hasRemainingTimeSeconds)
        let later = try await fixture.updateVehicle("veh-1", ["eta_to_first_waypoint"]) {
            $0.etaToFirstWaypoint = .init(seconds: 1)
        }
        #expect(later.etaToFirstWaypoint.seconds == 1)
    }

    @Test func `a vehicle that is read with its versions comes without what is known`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        try await fixture.createTrip("trip-1", .with(.sample) { $0.vehicleID = "veh-1" })
        try await fixture.updateVehicle("veh-1", ["current_route_segment"]) { $0.currentRouteSegment = "A" }
        let full = try await fixture.vehicle("veh-1")
        #expect(full.waypoints.count == 2)
        func read(_ change: (inout GetVehicle.Request) -> Void) async throws -> Vehicle {
            var request = GetVehicle.Request.with { $0.name = full.name }
            change(&request)
            return try await fixture.engine.perform(GetVehicle.self, request, token: serverToken)
        }
        let known = try await read {
            $0.waypointsVersion = full.waypointsVersion
            $0.currentRouteSegmentVersion = full.currentRouteSegmentVersion
        }
        #expect(known.waypoints.isEmpty)
        #expect(known.currentRouteSegment.isEmpty)
        #expect(known.waypointsVersion == full.waypointsVersion)
        let older = try await read {
            $0.waypointsVersion = full.waypointsVersion.advanced(by: .microseconds(-1))
            $0.currentRouteSegmentVersion = full.currentRouteSegmentVersion.advanced(by: .microseconds(-1))
        }
        #expect(older.waypoints.count == 2)
        #expect(older.currentRouteSegment == "A")
    }

    // MARK: Waypoints

    @Test func `one update may turn the plan round and bring the way to its new first stop`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        for id in ["a", "b"] { try await fixture.createTrip(id, .with(.sample) { $0.vehicleID = "veh-1" }) }
        let stops = try await fixture.vehicle("veh-1").waypoints
        let turned = try await fixture.updateVehicle(
            "veh-1", ["waypoints", "current_route_segment", "remaining_distance_meters"]
        ) {
            $0.waypoints = Array(stops[2...] + stops[..<2])
            $0.currentRouteSegment = "AhY"
            $0.remainingDistanceMeters = 7
        }
        #expect(turned.waypoints.map(\.tripID) == ["b", "b", "a", "a"])
        #expect(turned.currentRouteSegment == "AhY")
        #expect(turned.currentRouteSegmentEndPoint.tripID == "b")
        #expect(turned.remainingDistanceMeters.value == 7)
    }

    @Test func `waypoints can be permuted and nothing else`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1", .with(.sample) { $0.supportedTripTypes = [.shared] })
        for id in ["a", "b"] {
            try await fixture.createTrip(
                id,
                .with(.sample) {
                    $0.tripType = .shared
                    $0.vehicleID = "veh-1"
                }
            )
        }
        let stops = try await fixture.vehicle("veh-1").waypoints
        #expect(stops.map(\.tripID) == ["a", "a", "b", "b"])
        fixture.advance(by: 1)
        func order(_ order: [Int]) async throws -> Vehicle {
            try await fixture.updateVehicle("veh-1", ["waypoints"]) { $0.waypoints = order.map { stops[$0] } }
        }
        let permuted = try await order([0, 2, 1, 3])
        #expect(permuted.waypoints.map(\.tripID) == ["a", "b", "a", "b"])
        #expect(permuted.waypointsVersion.date == TestClock.start + 1)
        for wrong in [[0, 1, 2], [0, 1, 2, 3, 3], [1, 0, 2, 3], [0, 0, 1, 2], []] {
            #expect(await code { try await order(wrong) } == .invalidArgument, "\(wrong)")
        }
        let before = try await fixture.trip("a").remainingWaypointsVersion
        fixture.advance(by: 1)
        _ = try await order([0, 1, 2, 3])
        #expect(try await fixture.trip("a").remainingWaypointsVersion.date == TestClock.start + 2)
        #expect(before.date == TestClock.start + 1)
    }
}
