// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct FieldMaskTests {
    /// Every field of the contract's message is in the table or refused by it; nothing is forgotten.
    @Test(arguments: [
        "name", "vehicle_state", "supported_trip_types", "current_trips", "last_location", "past_locations",
        "maximum_capacity", "attributes", "vehicle_type", "license_plate", "route", "current_route_segment",
        "current_route_segment_traffic", "current_route_segment_version", "current_route_segment_end_point",
        "remaining_distance_meters", "eta_to_first_waypoint", "remaining_time_seconds", "waypoints",
        "waypoints_version", "back_to_back_enabled", "navigation_status", "device_settings",
    ])
    func `a vehicle's field is writable or the service's own`(field: String) {
        let refused = ["name", "current_trips", "current_route_segment_version", "waypoints_version"]
        #expect(Vehicle.isPathValid(field))
        // Either spelling, and a mixture of both.
        let mixed = field.split(separator: "_", maxSplits: 1).map { Self.camelCased(String($0)) }.joined(separator: "_")
        for path in [field, Self.camelCased(field), mixed] {
            let selection = try? VehicleFields.table.select(.of(path))
            #expect(selection?.touches(field) == (refused.contains(field) ? nil : true))
        }
    }

    private static func camelCased(_ name: String) -> String {
        let words = name.split(separator: "_")
        return words.dropFirst().reduce(into: String(words[0])) { $0 += $1.capitalized }
    }

    @Test(arguments: [
        "", "*", "nonsense", "available_capacity", "eta_to_next_waypoint", "Vehicle_state", "vehicle_state.",
        "last_location.nonsense", "waypoints.0", "past_locations.location", "vehicle_state.name", "name",
        "current_trips", "last_location.server_time", "lastLocation.serverTime", "last_location.server_time.seconds",
    ])
    func `a path that is unknown or not writable is refused`(path: String) {
        let error = #expect(throws: EngineError.self) { try VehicleFields.table.select(.of(path)) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.metadata["field"] == "update_mask")
    }

    @Test(arguments: ["VehicleState", "lastLocation.Heading", "vehicle_State", "lastLocation.headings"])
    func `a path that is unknown is told as it was written`(path: String) {
        let error = #expect(throws: EngineError.self) { try VehicleFields.table.select(.of("vehicle_state", path)) }
        #expect(error?.message.contains("\"\(path)\"") == true)
    }

    @Test(arguments: [
        "name", "trip_type", "number_of_passengers", "pickup_time", "dropoff_time", "route",
        "current_route_segment", "current_route_segment_version", "current_route_segment_traffic",
        "current_route_segment_traffic_version", "current_route_segment_end_point", "remaining_waypoints",
        "remaining_waypoints_version", "remaining_waypoints_route_version", "remaining_distance_meters",
        "eta_to_first_waypoint", "remaining_time_to_first_waypoint", "last_location", "last_location_snappable",
        "view", "lastLocation.location",
    ])
    func `a trip's immutable and derived fields are refused`(path: String) {
        #expect(throws: EngineError.self) { try TripFields.table.select(.of(path)) }
    }

    @Test(arguments: [
        "vehicle_id", "trip_status", "pickup_point", "dropoff_point", "intermediate_destinations",
        "intermediate_destinations_version", "intermediate_destination_index", "vehicle_waypoints",
        "actual_pickup_point", "actual_pickup_arrival_point", "actual_intermediate_destination_arrival_points",
        "actual_intermediate_destinations", "actual_dropoff_point", "attributes",
    ])
    func `a trip's other fields are writable`(path: String) throws {
        #expect(try TripFields.table.select(.of(path)).touches(path))
    }

    @Test func `an empty mask is refused by the words of the service`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        let error = await #expect(throws: EngineError.self) { try await fixture.updateVehicle("veh-1", []) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.hasPrefix("update_mask cannot be empty") == true)
    }

    @Test func `a masked field that the body leaves unset is cleared, the rest of the body is ignored`() throws {
        let stored = Vehicle.with(.sample) {
            $0.attributes = [.with { $0.key = "a" }]
            $0.licensePlate.countryCode = "US"
        }
        let body = Vehicle.with {
            $0.maximumCapacity = 9
            $0.vehicleState = .offline
        }
        let selection = try VehicleFields.table.select(.of("attributes", "licensePlate", "last_location"))
        let patched = try selection.patching(stored, with: body)
        #expect(patched.attributes.isEmpty)
        #expect(!patched.hasLicensePlate)
        #expect(!patched.hasLastLocation)
        #expect(patched.maximumCapacity == stored.maximumCapacity)
        #expect(patched.vehicleState == .online)
    }

    @Test func `a nested path changes and clears its part only`() throws {
        let stored = Vehicle.with(.sample) { $0.lastLocation.rawLocation = .at(1, 2) }
        let body = Vehicle.with { $0.lastLocation.heading = 90 }
        let selection = try VehicleFields.table.select(.of("last_location.heading", "lastLocation.rawLocation"))
        let patched = try selection.patching(stored, with: body)
        #expect(patched.lastLocation.heading.value == 90)
        #expect(!patched.lastLocation.hasRawLocation)
        #expect(patched.lastLocation.location == stored.lastLocation.location)
        #expect(selection.touches("last_location"))
        #expect(selection.covers("last_location.heading"))
        #expect(!selection.covers("last_location.location"))
    }

    @Test func `what a nested mask does not name may hold anything`() throws {
        let body = Vehicle.with {
            $0.lastLocation.heading = 90
            $0.lastLocation.updateTime.seconds = 1 << 50
            $0.etaToFirstWaypoint.seconds = 1 << 50
        }
        let patched = try VehicleFields.table.select(.of("last_location.heading")).patching(.sample, with: body)
        let turned = Vehicle.with(.sample) { $0.lastLocation.heading = 90 }
        #expect(patched == turned)
    }

    @Test func `what a nested mask does not name may be long`() throws {
        let body = Vehicle.with {
            $0.currentRouteSegmentEndPoint.tripID = String(repeating: "x", count: 4097)
            $0.currentRouteSegmentEndPoint.waypointType = .dropOffWaypointType
        }
        let selection = try VehicleFields.table.select(.of("current_route_segment_end_point.waypoint_type"))
        let patched = try selection.patching(Vehicle(), with: body)
        let expected = Vehicle.with { $0.currentRouteSegmentEndPoint.waypointType = .dropOffWaypointType }
        #expect(patched == expected)
    }

    @Test func `a nested path reads nothing of the other fields that are stored`() throws {
        let stored = Vehicle.with(.sample) { $0.etaToFirstWaypoint.seconds = 1 << 50 }
        let selection = try VehicleFields.table.select(.of("last_location.heading"))
        let patched = try selection.patching(stored, with: .with { $0.lastLocation.heading = 90 })
        let turned = Vehicle.with(stored) { $0.lastLocation.heading = 90 }
        #expect(patched == turned)
    }

    @Test func `a nested path into a long field is refused, whichever side is long`() throws {
        let long = Vehicle.with {
            $0.currentRouteSegmentEndPoint.tripID = String(repeating: "x", count: 4097)
            $0.currentRouteSegment = String(repeating: "x", count: 1_000_000)
        }
        let selection = try VehicleFields.table.select(.of("current_route_segment_end_point.trip_id"))
        for (stored, body) in [(long, Vehicle()), (Vehicle(), long)] {
            let error = #expect(throws: EngineError.self) { try selection.patching(stored, with: body) }
            #expect(error?.code == .invalidArgument)
            #expect(error?.metadata["field"] == "update_mask")
        }
        let elsewhere = try VehicleFields.table.select(.of("last_location.heading"))
        let turned = Vehicle.with(long) { $0.lastLocation.heading = 90 }
        #expect(try elsewhere.patching(long, with: turned) == turned)
    }

    @Test func `a nested path may lead into a field of four KiB`() throws {
        func vehicle(of bytes: Int) throws -> Vehicle {
            func named(_ length: Int) -> Vehicle {
                .with { $0.currentRouteSegmentEndPoint.tripID = String(repeating: "x", count: length) }
            }
            let message: [UInt8] = try named(4000).serializedBytes()
            return named(4000 + bytes - message.count)
        }
        let selection = try VehicleFields.table.select(.of("current_route_segment_end_point.waypoint_type"))
        let stored = try vehicle(of: 4096)
        #expect(try selection.patching(stored, with: Vehicle()) == stored)
        #expect(throws: EngineError.self) { try selection.patching(vehicle(of: 4097), with: Vehicle()) }
    }

    @Test func `a mask has a hundred paths at most`() throws {
        func select(_ count: Int) throws -> FieldSelection<Vehicle> {
            let paths = Array(repeating: "last_location.location.latitude", count: count)
            return try VehicleFields.table.select(.with { $0.paths = paths })
        }
        #expect(try select(100).touches("last_location"))
        let error = #expect(throws: EngineError.self) { try select(101) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("101") == true)
        #expect(error?.message.contains("100") == true)
    }

    @Test func `an error names a few of the nested paths, and each once`() throws {
        let readings = ["heading", "heading", "speed", "altitude", "speed_accuracy", "altitude_accuracy"]
        let mask = Google_Protobuf_FieldMask.with { $0.paths = readings.map { "last_location.\($0).value" } }
        let selection = try VehicleFields.table.select(mask)
        let error = #expect(throws: EngineError.self) {
            try selection.patching(.sample, with: .with { $0.lastLocation.heading = 7 })
        }
        let named = "last_location.heading.value, last_location.speed.value, last_location.altitude.value, …,"
        #expect(error?.message.contains("names \(named)") == true)
    }

    @Test(arguments: ["current_route_segment_traffic", "currentRouteSegmentTraffic.trafficRendering"])
    func `the traffic that a driver sends is not kept`(path: String) async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        let updated = try await fixture.updateVehicle("veh-1", [path], token: "driver|vehicleid=veh-1") {
            $0.currentRouteSegmentTraffic.trafficRendering.roadStretch = [.with { $0.lengthMeters = 5 }]
        }
        #expect(!updated.hasCurrentRouteSegmentTraffic)
    }

    @Test func `a nested path takes one alternative in place of another`() throws {
        let stored = DeliveryTask.with { $0.taskTrackingViewConfig.vehicleLocationVisibility.never = true }
        let body = DeliveryTask.with { $0.taskTrackingViewConfig.vehicleLocationVisibility.always = true }
        let path = "task_tracking_view_config.vehicle_location_visibility.always"
        let patched = try TaskFields.table.select(.of(path)).patching(stored, with: body)
        #expect(patched.taskTrackingViewConfig == body.taskTrackingViewConfig)
    }

    @Test(arguments: [
        "last_location.heading.value", "remaining_distance_meters.value", "eta_to_first_waypoint.seconds",
        "last_location.update_time.nanos",
    ])
    func `a nested path into a bare value is refused, whether or not there is one yet`(path: String) throws {
        let full = Vehicle.with {
            $0.lastLocation.heading = 7
            $0.lastLocation.updateTime.nanos = 7
            $0.remainingDistanceMeters = 7
            $0.etaToFirstWaypoint.seconds = 7
        }
        let selection = try VehicleFields.table.select(.of("last_location.location.latitude", path))
        for (stored, body) in [(full, full), (Vehicle(), full), (full, Vehicle())] {
            let error = #expect(throws: EngineError.self) { try selection.patching(stored, with: body) }
            let expected = "update_mask names \(path), in a value which has no parts that a mask can name;"
            #expect(error?.message.hasPrefix(expected) == true)
        }
    }

    @Test func `a nested path to a time that cannot be told is refused for that`() throws {
        let body = Vehicle.with { $0.lastLocation.updateTime.seconds = 1 << 50 }
        let selection = try VehicleFields.table.select(.of("last_location.update_time"))
        let error = #expect(throws: EngineError.self) { try selection.patching(.sample, with: body) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("time or duration out of range") == true)
    }

    @Test func `a nested path that brings nothing makes no field that holds it`() throws {
        let path = "task_tracking_view_config.vehicle_location_visibility.always"
        let selection = try TaskFields.table.select(.of(path))
        for body in [DeliveryTask(), .with { $0.taskTrackingViewConfig.vehicleLocationVisibility = .init() }] {
            #expect(try !selection.patching(DeliveryTask(), with: body).hasTaskTrackingViewConfig)
        }
    }

    @Test func `a mask reaches what it names, what that holds, and what holds that`() throws {
        for mask in ["last_location", "last_location.location", "last_location.location.latitude"] {
            let selection = try VehicleFields.table.select(.of(mask))
            #expect(selection.reaches("last_location.location"))
            #expect(selection.reaches("last_location.raw_location") == (mask == "last_location"))
            #expect(selection.tellsPosition)
        }
        #expect(try !VehicleFields.table.select(.of("last_location.heading", "vehicle_state")).tellsPosition)
    }
}
