// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct LocationTests {
    private static func world() async throws -> EngineFixture {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        return fixture
    }

    // MARK: Nested masks

    @Test func `a deprecated field that a mask names alone renews the one that replaced it`() async throws {
        let fixture = try await Self.world()
        let mask = [
            "lastLocation.speedKmph", "lastLocation.bearingAccuracy", "last_location.horizontal_accuracy",
            "last_location.vertical_accuracy",
        ]
        for number in [36, 72] as [Int32] {
            let reading = Double(number)
            let location = try await fixture.updateVehicle("veh-1", mask) {
                $0.lastLocation.speedKmph = .init(number)
                $0.lastLocation.bearingAccuracy = .init(reading)
                $0.lastLocation.horizontalAccuracy = .init(reading)
                $0.lastLocation.verticalAccuracy = .init(reading)
            }.lastLocation
            #expect(location.speed.value == reading / 3.6)
            #expect(location.headingAccuracy.value == reading)
            #expect(location.latlngAccuracy.value == reading)
            #expect(location.altitudeAccuracy.value == reading)
        }
        let both = try await fixture.updateVehicle("veh-1", ["lastLocation.speedKmph", "lastLocation.speed"]) {
            $0.lastLocation.speedKmph = 36
            $0.lastLocation.speed = 5.0
        }.lastLocation
        #expect(both.speed.value == 5)
        let cleared = try await fixture.updateVehicle("veh-1", mask).lastLocation
        #expect(!cleared.hasSpeed)
        #expect(!cleared.hasHeadingAccuracy)
        #expect(!cleared.hasLatlngAccuracy)
        #expect(!cleared.hasAltitudeAccuracy)
    }

    @Test func `another position does not keep the source of the former one`() async throws {
        let fixture = try await Self.world()
        let taken = Google_Protobuf_Timestamp(date: TestClock.start)
        let supplied = try await fixture.updateVehicle("veh-1", ["last_location"]) {
            $0.lastLocation.supplementalLocation = .at(3, 4)
            $0.lastLocation.supplementalLocationAccuracy = 9.0
            $0.lastLocation.supplementalLocationTime = taken
        }.lastLocation
        #expect(supplied.location == .at(3, 4))
        #expect(supplied.latlngAccuracy.value == 9)
        for path in ["lastLocation.location", "last_location.location.latitude"] {
            let moved = try await fixture.updateVehicle("veh-1", [path]) { $0.lastLocation = .at(7, 4) }.lastLocation
            #expect(moved.location.latitude == 7)
            #expect(moved.locationSensor == .unknownSensor)
            #expect(!moved.hasLatlngAccuracy)
            #expect(!moved.hasUpdateTime)
            #expect(moved.supplementalLocation == .at(3, 4))
            #expect(moved.supplementalLocationTime == taken)
        }
        let mask = ["location", "locationSensor", "latlngAccuracy", "updateTime"].map { "lastLocation.\($0)" }
        let whole = try await fixture.updateVehicle("veh-1", mask) {
            $0.lastLocation = .at(8, 4)
            $0.lastLocation.locationSensor = .gps
            $0.lastLocation.latlngAccuracy = 2.0
            $0.lastLocation.updateTime = taken
        }.lastLocation
        #expect(whole.location == .at(8, 4))
        #expect(whole.locationSensor == .gps)
        #expect(whole.latlngAccuracy.value == 2)
        #expect(whole.updateTime == taken)
    }

    @Test func `another reading does not keep the source of the former one`() async throws {
        let fixture = try await Self.world()
        let taken = Google_Protobuf_Timestamp(date: TestClock.start)
        let mask = ["last_location.raw_location", "last_location.flp_location", "last_location.supplemental_location"]
        try await fixture.updateVehicle("veh-1", ["last_location"]) {
            $0.lastLocation.rawLocation = .at(1, 2)
            $0.lastLocation.rawLocationSensor = .network
            $0.lastLocation.rawLocationAccuracy = 5.0
            $0.lastLocation.rawLocationTime = taken
            $0.lastLocation.flpLocation = .at(1, 2)
            $0.lastLocation.flpLatlngAccuracyMeters = 5.0
            $0.lastLocation.flpUpdateTime = taken
            $0.lastLocation.supplementalLocation = .at(1, 2)
            $0.lastLocation.supplementalLocationSensor = .network
            $0.lastLocation.supplementalLocationAccuracy = 5.0
            $0.lastLocation.supplementalLocationTime = taken
        }
        fixture.advance(by: 5)
        let moved = try await fixture.updateVehicle("veh-1", mask) {
            $0.lastLocation.rawLocation = .at(3, 4)
            $0.lastLocation.flpLocation = .at(5, 6)
            $0.lastLocation.supplementalLocation = .at(7, 8)
        }.lastLocation
        let expected = VehicleLocation.with(.at(7, 8)) {
            $0.locationSensor = .customerSuppliedLocation
            $0.rawLocation = .at(3, 4)
            $0.rawLocationSensor = .gps
            $0.flpLocation = .at(5, 6)
            $0.supplementalLocation = .at(7, 8)
            $0.supplementalLocationSensor = .customerSuppliedLocation
            $0.serverTime = .init(date: TestClock.start + 5)
        }
        #expect(moved == expected)
    }

    // MARK: The order of fixes

    /// Reports where the vehicle was some seconds after the start, or without saying when.
    private static func report(
        _ latitude: Double, at seconds: TimeInterval?, in fixture: EngineFixture
    ) async throws -> VehicleLocation {
        try await fixture.updateVehicle("veh-1", ["last_location"]) {
            $0.lastLocation = .at(latitude, 0)
            if let seconds { $0.lastLocation.updateTime = .init(date: TestClock.start + seconds) }
        }.lastLocation
    }

    @Test func `a position without a time of its own lets no much older fix in`() async throws {
        let fixture = try await Self.world()
        func report(_ latitude: Double, at seconds: TimeInterval?) async throws -> Double {
            try await Self.report(latitude, at: seconds, in: fixture).location.latitude
        }
        #expect(try await report(1, at: 0) == 1)
        fixture.advance(by: 400)
        #expect(try await report(2, at: nil) == 2)
        #expect(try await report(3, at: -86_000) == 2)
        #expect(try await report(4, at: 99) == 2)
        // What clocks may be off is allowed for, and from then on the device's own time counts.
        #expect(try await report(5, at: 100) == 5)
        #expect(try await report(6, at: 99) == 5)
    }

    @Test func `a clock that is far behind is believed once a position without a time of its own is old`()
        async throws
    {
        let fixture = try await Self.world()
        func report(_ latitude: Double, at seconds: TimeInterval?) async throws -> VehicleLocation {
            try await Self.report(latitude, at: seconds, in: fixture)
        }
        let untimed = try await report(1, at: nil)
        fixture.advance(by: 300)
        #expect(try await report(2, at: -600) == untimed)
        fixture.advance(by: 1)
        let located = try await report(3, at: -299)
        #expect(located.location.latitude == 3)
        #expect(located.updateTime.date == TestClock.start - 299)
        #expect(located.serverTime.date == TestClock.start + 301)
        fixture.advance(by: 5)
        #expect(try await report(4, at: -294).location.latitude == 4)
        #expect(try await report(5, at: -295).location.latitude == 4)
    }

    @Test func `a clock that was set back is believed once the position from before is old`() async throws {
        let fixture = try await Self.world()
        func report(_ latitude: Double, at seconds: TimeInterval) async throws -> Double {
            try await Self.report(latitude, at: seconds, in: fixture).location.latitude
        }
        #expect(try await report(1, at: 0) == 1)
        fixture.advance(by: 300)
        #expect(try await report(2, at: -3300) == 1)
        fixture.advance(by: 1)
        #expect(try await report(3, at: -3299) == 3)
        #expect(try await report(4, at: -3300) == 3)
    }

    @Test(arguments: [true, false])
    func `a position of an engine's clock that was ahead keeps no later one out`(isTimed: Bool) async throws {
        let fixture = try await Self.world()
        func report(_ latitude: Double, at seconds: TimeInterval?) async throws -> Double {
            try await Self.report(latitude, at: seconds, in: fixture).location.latitude
        }
        fixture.advance(by: 3600)
        #expect(try await report(1, at: isTimed ? 3600 : nil) == 1)
        fixture.advance(by: -300)
        #expect(try await report(2, at: 3299) == 1)
        fixture.advance(by: -1)
        #expect(try await report(3, at: 3299) == 3)
        #expect(try await report(4, at: 3298) == 3)
    }

    @Test func `a report that comes late changes what is not of the moment, and the way as little as the place`()
        async throws
    {
        let fixture = try await Self.world()
        try await fixture.createTrip("trip-1", .with(.sample) { $0.vehicleID = "veh-1" })
        let mask = [
            "last_location", "current_route_segment", "current_route_segment_end_point", "remaining_distance_meters",
            "eta_to_first_waypoint", "remaining_time_seconds", "navigation_status", "maximum_capacity",
        ]
        let newest = try await fixture.updateVehicle("veh-1", mask) {
            $0.lastLocation = .at(37.42, -122.07)
            $0.lastLocation.updateTime = .init(date: TestClock.start - 5)
            $0.currentRouteSegment = "new"
            $0.remainingDistanceMeters = 1000
            $0.remainingTimeSeconds = 60
            $0.navigationStatus = .enrouteToDestination
            $0.maximumCapacity = 4
        }
        #expect(newest.currentRouteSegmentEndPoint.tripID == "trip-1")
        fixture.advance(by: 1)
        func report(at time: Date) async throws -> Vehicle {
            try await fixture.updateVehicle("veh-1", mask) {
                $0.lastLocation = .at(37.41, -122.07)
                $0.lastLocation.updateTime = .init(date: time)
                $0.currentRouteSegment = "other"
                $0.currentRouteSegmentEndPoint.waypointType = .dropOffWaypointType
                $0.remainingDistanceMeters = 11_000
                $0.etaToFirstWaypoint = .init(date: TestClock.start + 900)
                $0.navigationStatus = .offRoute
                $0.maximumCapacity = 5
            }
        }
        let late = try await report(at: TestClock.start - 20)
        #expect(late == Vehicle.with(newest) { $0.maximumCapacity = 5 })
        let next = try await report(at: TestClock.start)
        #expect(next.currentRouteSegment == "other")
        #expect(next.currentRouteSegmentVersion.date == TestClock.start + 1)
        #expect(next.currentRouteSegmentEndPoint.waypointType == .dropOffWaypointType)
        #expect(next.remainingDistanceMeters.value == 11_000)
        #expect(next.etaToFirstWaypoint.date == TestClock.start + 900)
        #expect(next.navigationStatus == .offRoute)
    }

    @Test func `a report that comes late may turn the plan round`() async throws {
        let fixture = try await Self.world()
        for id in ["a", "b"] { try await fixture.createTrip(id, .with(.sample) { $0.vehicleID = "veh-1" }) }
        let stops = try await fixture.updateVehicle("veh-1", ["last_location", "current_route_segment"]) {
            $0.lastLocation = .at(37.42, -122.07)
            $0.lastLocation.updateTime = .init(date: TestClock.start - 5)
            $0.currentRouteSegment = "to a"
        }.waypoints
        let turned = try await fixture.updateVehicle("veh-1", ["waypoints", "last_location", "current_route_segment"]) {
            $0.waypoints = Array(stops[2...] + stops[..<2])
            $0.lastLocation = .at(37.41, -122.07)
            $0.lastLocation.updateTime = .init(date: TestClock.start - 20)
            $0.currentRouteSegment = "to a, from farther away"
        }
        #expect(turned.waypoints.map(\.tripID) == ["b", "b", "a", "a"])
        #expect(turned.lastLocation.location == .at(37.42, -122.07))
        #expect(turned.currentRouteSegment.isEmpty)
    }

    // MARK: The best known position

    private static let place = LatLng.at(37.41, -122.07)
    private static let taken = Google_Protobuf_Timestamp(date: TestClock.start + 58)

    /// Reports that know one position each.
    private static let readings: [VehicleLocation] = [
        .with {
            $0.rawLocation = Self.place
            $0.rawLocationTime = Self.taken
        },
        .with {
            $0.flpLocation = Self.place
            $0.flpUpdateTime = Self.taken
        },
        .with {
            $0.supplementalLocation = Self.place
            $0.supplementalLocationTime = Self.taken
        },
    ]

    /// A trip as it is shown while the vehicle is on its way, and once it is over.
    private static func ride(_ location: VehicleLocation) async throws -> (underway: Trip, done: Trip) {
        let fixture = try await self.world()
        try await fixture.createTrip("trip-1", .with(.sample) { $0.vehicleID = "veh-1" })
        fixture.advance(by: 60)
        try await fixture.updateVehicle("veh-1", ["last_location", "current_route_segment"]) {
            $0.lastLocation = location
            $0.currentRouteSegment = "AbCd"
        }
        let underway = try await fixture.trip("trip-1")
        try await fixture.updateTrip("trip-1", ["trip_status"]) { $0.tripStatus = .enrouteToDropoff }
        let done = try await fixture.updateTrip("trip-1", ["trip_status"]) { $0.tripStatus = .complete }
        return (underway, done)
    }

    /// Reports whose position tells no time, beside another reading that tells one.
    private static let untimed: [VehicleLocation] = [
        .with {
            $0.location = Self.place
            $0.flpLocation = .at(37.2, -122.07)
            $0.flpUpdateTime = Self.taken
        },
        .with {
            $0.rawLocation = Self.place
            $0.flpLocation = .at(37.2, -122.07)
            $0.flpUpdateTime = Self.taken
        },
        .with {
            $0.supplementalLocation = Self.place
            $0.flpLocation = .at(37.2, -122.07)
            $0.flpUpdateTime = Self.taken
        },
    ]

    @Test(arguments: untimed)
    func `a stop has no time of another reading`(reading: VehicleLocation) async throws {
        let ride = try await Self.ride(reading)
        #expect(ride.done.actualPickupPoint.point == Self.place)
        #expect(ride.done.actualPickupPoint.timestamp == Google_Protobuf_Timestamp(date: TestClock.start + 60))
    }

    @Test(arguments: [VehicleLocation(), .with { $0.speed = 5.0 }])
    func `of a location without a position a passenger sees nothing`(reading: VehicleLocation) async throws {
        let ride = try await Self.ride(reading)
        #expect(!ride.underway.hasLastLocation)
        #expect(!ride.underway.lastLocationSnappable)
        #expect(!ride.done.hasLastLocation)
    }

    @Test(arguments: readings)
    func `ways, times and a trip's record go by the only position that is known`(
        reading: VehicleLocation
    ) async throws {
        let known = try await Self.ride(
            .with {
                $0.location = Self.place
                $0.updateTime = Self.taken
            })
        let ride = try await Self.ride(reading)
        #expect(ride.underway.remainingWaypoints.allSatisfy { $0.hasEta })
        #expect(ride.underway.remainingWaypoints == known.underway.remainingWaypoints)
        #expect(ride.underway.remainingDistanceMeters == known.underway.remainingDistanceMeters)
        #expect(ride.underway.etaToFirstWaypoint == known.underway.etaToFirstWaypoint)
        #expect(ride.underway.lastLocationSnappable)
        #expect(ride.done.actualPickupPoint.point == Self.place)
        #expect(ride.done.actualDropoffPoint.timestamp == Self.taken)
        #expect(ride.done == known.done)
    }
}
