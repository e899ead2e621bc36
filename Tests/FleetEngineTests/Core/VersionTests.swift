// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import SwiftProtobuf
import Testing

@testable import FleetEngine

/// The versions by which clients tell what they have.
@Suite struct VersionTests {
    @Test(arguments: [-3600, 0] as [TimeInterval])
    func `each change brings a later version, also after the clock was set back`(step: TimeInterval) async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        for id in ["a", "b"] {
            try await fixture.createTrip(
                id,
                .with(.sample) {
                    $0.vehicleID = "veh-1"
                    $0.intermediateDestinations = [.at(37.43, -122.07)]
                }
            )
        }
        try await fixture.updateVehicle("veh-1", ["current_route_segment"]) { $0.currentRouteSegment = "A" }
        var known = try await Self.versions(fixture)
        func expectLater(_ changed: Set<String>, after change: () async throws -> Void) async throws {
            fixture.advance(by: step)
            try await change()
            let versions = try await Self.versions(fixture)
            for (name, version) in versions {
                let former = try #require(known[name])
                #expect(changed.contains(name) ? former < version : former == version, "\(name)")
            }
            known = versions
        }
        try await expectLater(["segment"]) {
            try await fixture.updateVehicle("veh-1", ["current_route_segment"]) { $0.currentRouteSegment = "B" }
        }
        try await expectLater(["waypoints", "segment", "path of a", "path of b"]) {
            let stops = try await fixture.vehicle("veh-1").waypoints
            try await fixture.updateVehicle("veh-1", ["waypoints"]) { $0.waypoints = Array(stops[3...] + stops[..<3]) }
        }
        // Without a segment the version tells that the way leads elsewhere now.
        try await expectLater(["waypoints", "segment", "path of a", "path of b"]) {
            try await fixture.updateTrip("b", ["trip_status"]) { $0.tripStatus = .enrouteToDropoff }
        }
        try await expectLater(["waypoints", "path of a", "destinations of a"]) {
            try await fixture.updateTrip("a", ["intermediate_destinations"]) {
                $0.intermediateDestinations = [.at(37.44, -122.07)]
            }
        }
    }

    @Test func `a trip that changes its vehicle shows a later segment than its readers know`() async throws {
        let fixture = EngineFixture()
        for id in ["old", "new"] {
            try await fixture.createVehicle(id, .with(.sample) { $0.supportedTripTypes = [.shared] })
        }
        for (id, vehicle) in [("other", "new"), ("moved", "old")] {
            try await fixture.createTrip(
                id,
                .with(.sample) {
                    $0.tripType = .shared
                    $0.vehicleID = vehicle
                }
            )
            fixture.advance(by: 5)
            try await fixture.updateVehicle(vehicle, ["current_route_segment"]) { $0.currentRouteSegment = vehicle }
        }
        let known = try await fixture.trip("moved").currentRouteSegmentVersion
        try await fixture.updateTrip("moved", ["vehicle_id"]) { $0.vehicleID = "new" }
        let moved = try await fixture.trip("moved") {
            $0.routeFormatType = .encodedPolylineType
            $0.currentRouteSegmentVersion = known
        }
        #expect(known < moved.currentRouteSegmentVersion)
        #expect(moved.currentRouteSegment == "new")
    }

    @Test func `a trip that goes to and fro at one instant shows a later segment each time`() async throws {
        let fixture = EngineFixture()
        for vehicle in ["here", "there"] {
            try await fixture.createVehicle(vehicle, .with(.sample) { $0.supportedTripTypes = [.shared] })
            try await fixture.createTrip(
                "first-\(vehicle)",
                .with(.sample) {
                    $0.tripType = .shared
                    $0.vehicleID = vehicle
                }
            )
            try await fixture.updateVehicle(vehicle, ["current_route_segment"]) { $0.currentRouteSegment = vehicle }
        }
        try await fixture.createTrip(
            "moved",
            .with(.sample) {
                $0.tripType = .shared
                $0.vehicleID = "here"
            }
        )
        for vehicle in ["there", "here", "there"] {
            let known = try await fixture.trip("moved").currentRouteSegmentVersion
            try await fixture.updateTrip("moved", ["vehicle_id"]) { $0.vehicleID = vehicle }
            #expect(try await known < fixture.trip("moved").currentRouteSegmentVersion)
        }
    }

    private static func versions(_ fixture: EngineFixture) async throws -> [String: Google_Protobuf_Timestamp] {
        let vehicle = try await fixture.vehicle("veh-1")
        let (a, b) = (try await fixture.trip("a"), try await fixture.trip("b"))
        return [
            "waypoints": vehicle.waypointsVersion, "segment": vehicle.currentRouteSegmentVersion,
            "path of a": a.remainingWaypointsVersion, "path of b": b.remainingWaypointsVersion,
            "destinations of a": a.intermediateDestinationsVersion,
            "destinations of b": b.intermediateDestinationsVersion,
        ]
    }

    @Test func `a vehicle's server_time stays where an update tells no position`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        fixture.advance(by: 10)
        let turned = try await fixture.updateVehicle("veh-1", ["last_location.heading"]) {
            $0.lastLocation.heading = 90
        }
        #expect(turned.lastLocation.heading.value == 90)
        #expect(turned.lastLocation.serverTime.date == TestClock.start)
        let moved = try await fixture.updateVehicle("veh-1", ["last_location"]) {
            $0.lastLocation = .at(37.42, -122.07)
        }
        #expect(moved.lastLocation.serverTime.date == TestClock.start + 10)
    }

    @Test func `a location without a position has no server_time and keeps no position out`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1", .with(.sample) { $0.lastLocation = .with { $0.heading = 5 } })
        func isFresh() async throws -> Bool {
            let request = ListVehicles.Request.with {
                $0.parent = "providers/acme"
                $0.maximumStaleness.seconds = 3600
            }
            return try await fixture.engine.perform(ListVehicles.self, request, token: serverToken).vehicles.count == 1
        }
        #expect(try await !fixture.vehicle("veh-1").lastLocation.hasServerTime)
        for mask in ["last_location", "last_location.heading", "last_location.location"] {
            let turned = try await fixture.updateVehicle("veh-1", [mask]) { $0.lastLocation.heading = 90 }
            #expect(turned.lastLocation.heading.value == 90)
            #expect(!turned.lastLocation.hasServerTime, "\(mask)")
        }
        #expect(try await !isFresh())
        // A device in a tunnel reports late where it was.
        try await fixture.updateVehicle("veh-1", ["last_location"]) {
            $0.lastLocation.heading = 90
            $0.lastLocation.updateTime = .init(date: TestClock.start)
        }
        let placed = try await fixture.updateVehicle("veh-1", ["last_location"]) {
            $0.lastLocation = .at(37.42, -122.07)
            $0.lastLocation.updateTime = .init(date: TestClock.start - 600)
        }
        #expect(placed.lastLocation.location == .at(37.42, -122.07))
        #expect(placed.lastLocation.serverTime.date == TestClock.start)
        #expect(try await isFresh())
        let cleared = try await fixture.updateVehicle("veh-1", ["last_location.location"])
        #expect(!cleared.lastLocation.hasServerTime)
        #expect(try await !isFresh())
    }
}
