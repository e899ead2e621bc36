// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct DeliveryVehicleCallTests {
    @Test func `a vehicle is created from nothing, from its own fields, and from nothing else`() async throws {
        let world = DeliveryWorld()
        let bare = try await world.createVehicle("dv-1") { _ in }
        #expect(bare.name == "providers/acme/deliveryVehicles/dv-1")
        #expect(bare.type == .auto)
        let empty = try await world.createVehicle("dv-3") { $0.lastLocation = DeliveryVehicleLocation() }
        #expect(!empty.hasLastLocation)
        let full = try await world.createVehicle("dv-2") {
            $0.name = "providers/acme/deliveryVehicles/ignored"
            $0.type = .bicycle
            $0.lastLocation = .deliveryAt(37.42, -122.07)
            $0.attributes = [
                .with {
                    $0.key = "depot"
                    $0.value = "north"
                }
            ]
            // Clients were seen sending empty messages.
            $0.currentRouteSegmentEndPoint = LatLng()
        }
        #expect(full.type == .bicycle)
        #expect(full.lastLocation.serverTime.date == TestClock.start)
        #expect(full.attributes.first?.stringValue == "north")
        #expect(try await world.vehicle("dv-2") == full)
        #expect(await code { try await world.createVehicle("dv-2") } == .alreadyExists)
    }

    typealias Change = @Sendable (inout DeliveryVehicle) -> Void

    private static let later: [Change] = [
        { $0.pastLocations = [.deliveryAt(1, 1)] }, { $0.navigationStatus = .offRoute },
        { $0.currentRouteSegment = Data([1]) }, { $0.currentRouteSegmentEndPoint = .at(1, 1) },
        { $0.remainingDistanceMeters = 5 }, { $0.remainingDuration.seconds = 5 },
        { $0.remainingVehicleJourneySegments = [.stop(1, 1, [])] }, { $0.type = .UNRECOGNIZED(9) },
        { $0.lastLocation = .deliveryAt(91, 0) }, { $0.lastLocation.locationSensor = .fleetEngineLocation },
    ]

    @Test(arguments: later.indices)
    func `what only an update may set is refused on creation`(index: Int) async throws {
        #expect(await code { try await DeliveryWorld().createVehicle("dv-1", Self.later[index]) } == .invalidArgument)
    }

    @Test func `only masked fields change, under either spelling`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        let updated = try await world.updateVehicle("dv-1", ["navigationStatus", "type"]) {
            $0.navigationStatus = .enrouteToDestination
            $0.type = .pedestrian
            $0.lastLocation = .deliveryAt(1, 1)
        }
        #expect(updated.navigationStatus == .enrouteToDestination)
        #expect(updated.type == .pedestrian)
        #expect(updated.lastLocation.location == .at(37.42, -122.07))
        for mask in [[], ["*"], ["name"], ["wheels"]] {
            #expect(await code { try await world.updateVehicle("dv-1", mask) } == .invalidArgument)
        }
        #expect(await code { try await world.updateVehicle("dv-9", ["type"]) } == .notFound)
        #expect(
            await code { try await world.updateVehicle("dv-9", ["type"]) { $0.type = .UNRECOGNIZED(9) } }
                == .invalidArgument)
    }

    private static let wrong: [(String, Change)] = [
        ("type", { $0.type = .UNRECOGNIZED(9) }), ("navigation_status", { $0.navigationStatus = .UNRECOGNIZED(9) }),
        ("remaining_distance_meters", { $0.remainingDistanceMeters = -1 }),
        ("remaining_duration", { $0.remainingDuration.seconds = .max }),
        ("current_route_segment_end_point", { $0.currentRouteSegmentEndPoint = .at(91, 0) }),
        ("last_location.location", { $0.lastLocation = .deliveryAt(91, 0) }),
        ("past_locations[1].location", { $0.pastLocations = [.deliveryAt(0, 0), .deliveryAt(0, 181)] }),
    ]

    @Test(arguments: wrong)
    func `a field out of its range is refused by its name`(field: String, change: Change) async throws {
        let world = DeliveryWorld()
        let created = try await world.createVehicle("dv-1")
        let mask = [
            "type", "navigation_status", "remaining_distance_meters", "remaining_duration",
            "current_route_segment_end_point", "last_location", "past_locations",
        ]
        let error = await #expect(throws: EngineError.self) { try await world.updateVehicle("dv-1", mask, change) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.metadata["field"] == field)
        #expect(error?.message.hasPrefix("\(field) ") == true)
        #expect(try await world.vehicle("dv-1") == created)
    }

    @Test func `a supplemental position takes the place of an older one`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        try await world.updateVehicle("dv-1", ["last_location"]) { $0.lastLocation = .deliveryAt(1, 2) }
        let supplied = try await world.updateVehicle("dv-1", ["last_location.supplemental_location"]) {
            $0.lastLocation.supplementalLocation = .at(3, 4)
        }.lastLocation
        #expect(supplied.location == .at(3, 4))
        #expect(supplied.locationSensor == .customerSuppliedLocation)
    }

    @Test func `past locations are not kept`() async throws {
        let world = DeliveryWorld()
        let created = try await world.createVehicle("dv-1")
        let updated = try await world.updateVehicle("dv-1", ["past_locations"]) {
            $0.pastLocations = [.deliveryAt(1, 1)]
        }
        #expect(updated == created)
        #expect(try await world.vehicle("dv-1") == created)
    }

    @Test func `a location is as old as its position`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        world.clock.advance(by: 60)
        let turned = try await world.updateVehicle("dv-1", ["last_location.heading"]) {
            $0.lastLocation.heading = 90
            $0.lastLocation.serverTime.seconds = 1
        }
        #expect(turned.lastLocation.heading.value == 90)
        #expect(turned.lastLocation.serverTime.date == TestClock.start)
        #expect(await code { try await world.updateVehicle("dv-1", ["lastLocation.serverTime"]) } == .invalidArgument)
        for path in ["last_location.raw_location", "last_location.location.latitude", "last_location"] {
            world.clock.advance(by: 60)
            let moved = try await world.updateVehicle("dv-1", [path]) {
                $0.lastLocation = .deliveryAt(37.43, -122.07)
                $0.lastLocation.rawLocation = .at(37.43, -122.07)
            }
            #expect(moved.lastLocation.serverTime.date == world.clock.now, "\(path)")
        }
    }

    @Test(arguments: [true, false])
    func `a position of an engine's clock that was ahead keeps no later one out`(isTimed: Bool) async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        func report(_ latitude: Double, at seconds: TimeInterval?) async throws -> Double {
            try await world.updateVehicle("dv-1", ["last_location"]) {
                $0.lastLocation = .deliveryAt(latitude, 0)
                if let seconds { $0.lastLocation.updateTime = .init(date: TestClock.start + seconds) }
            }.lastLocation.location.latitude
        }
        world.clock.advance(by: 3600)
        #expect(try await report(1, at: isTimed ? 3600 : nil) == 1)
        world.clock.advance(by: -300)
        #expect(try await report(2, at: 3299) == 1)
        world.clock.advance(by: -1)
        #expect(try await report(3, at: 3299) == 3)
        #expect(try await report(4, at: 3298) == 3)
    }

    @Test func `a location without a position has no age, and keeps no position out`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1") { _ in }
        let turned = try await world.updateVehicle("dv-1", ["last_location"]) {
            $0.lastLocation.heading = 90
        }
        #expect(turned.lastLocation.heading.value == 90)
        #expect(!turned.lastLocation.hasServerTime)
        let placed = try await world.updateVehicle("dv-1", ["last_location"]) {
            $0.lastLocation = .deliveryAt(37.43, -122.07)
            $0.lastLocation.updateTime = .init(date: TestClock.start - 600)
        }
        #expect(placed.lastLocation.location == .at(37.43, -122.07))
        #expect(placed.lastLocation.serverTime.date == TestClock.start)
    }

    @Test func `a nested mask makes a location of what it brings, and of nothing none`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1") { _ in }
        let mask = ["last_location.heading", "last_location.supplemental_location"]
        #expect(try await !world.updateVehicle("dv-1", mask).hasLastLocation)
        let empty = try await world.updateVehicle("dv-1", mask) { $0.lastLocation = .init() }
        #expect(!empty.hasLastLocation)
        let placed = try await world.updateVehicle("dv-1", mask) {
            $0.lastLocation.supplementalLocation = .at(37.42, -122.07)
        }
        #expect(placed.lastLocation.location == .at(37.42, -122.07))
        #expect(placed.lastLocation.serverTime.date == TestClock.start)
    }

    // MARK: - The driver's route

    @Test func `what the driver reports of its route counts along with the route only`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        let mask = ["remaining_distance_meters", "remaining_duration", "current_route_segment_end_point"]
        let report: (inout DeliveryVehicle) -> Void = {
            $0.currentRouteSegment = Data([1, 2, 3])
            $0.currentRouteSegmentEndPoint = .at(37.43, -122.07)
            $0.remainingDistanceMeters = 700
            $0.remainingDuration.seconds = 90
        }
        let alone = try await world.updateVehicle("dv-1", mask, report)
        #expect(!alone.hasRemainingDistanceMeters)
        #expect(!alone.hasRemainingDuration)
        #expect(!alone.hasCurrentRouteSegmentEndPoint)
        let together = try await world.updateVehicle("dv-1", ["current_route_segment"] + mask, report)
        #expect(together.currentRouteSegment == Data([1, 2, 3]))
        #expect(together.remainingDistanceMeters.value == 700)
        #expect(together.remainingDuration.seconds == 90)
        // Once there is a route, the rest may come alone.
        let closer = try await world.updateVehicle("dv-1", ["remaining_distance_meters"]) {
            $0.remainingDistanceMeters = 300
        }
        #expect(closer.remainingDistanceMeters.value == 300)
        #expect(closer.remainingDuration.seconds == 90)
        // The same route again changes none of them.
        let same = try await world.updateVehicle("dv-1", ["current_route_segment", "navigation_status"], report)
        #expect(same.remainingDistanceMeters.value == 300)
        #expect(same.remainingDuration.seconds == 90)
        #expect(same.currentRouteSegmentEndPoint == .at(37.43, -122.07))
        // Another route makes the old figures void.
        let other = try await world.updateVehicle("dv-1", ["current_route_segment"]) {
            $0.currentRouteSegment = Data([4])
        }
        #expect(!other.hasRemainingDistanceMeters)
        #expect(!other.hasRemainingDuration)
        #expect(!other.hasCurrentRouteSegmentEndPoint)
    }

    @Test func `the remaining duration counts down with the clock, through other updates, and stops at nothing`()
        async throws
    {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        try await world.updateVehicle("dv-1", ["current_route_segment", "remaining_duration"]) {
            $0.currentRouteSegment = Data([1])
            $0.remainingDuration.seconds = 90
        }
        world.clock.advance(by: 30)
        #expect(try await world.vehicle("dv-1").remainingDuration.seconds == 60)
        try await world.updateVehicle("dv-1", ["last_location"]) { $0.lastLocation = .deliveryAt(37.425, -122.07) }
        world.clock.advance(by: 30)
        #expect(try await world.vehicle("dv-1").remainingDuration.seconds == 30)
        world.clock.advance(by: 60)
        #expect(try await world.vehicle("dv-1").remainingDuration == Google_Protobuf_Duration())
    }

    @Test func `a report that comes late changes what is not of the moment, and the way as little as the place`()
        async throws
    {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        let mask = [
            "last_location", "current_route_segment", "current_route_segment_end_point", "remaining_distance_meters",
            "remaining_duration", "navigation_status", "type",
        ]
        let newest = try await world.updateVehicle("dv-1", mask) {
            $0.lastLocation = .deliveryAt(37.42, -122.07)
            $0.lastLocation.updateTime = .init(date: TestClock.start - 5)
            $0.currentRouteSegment = Data([1])
            $0.currentRouteSegmentEndPoint = .at(37.43, -122.07)
            $0.remainingDistanceMeters = 700
            $0.remainingDuration.seconds = 90
            $0.navigationStatus = .enrouteToDestination
        }
        func report(at time: Date) async throws -> DeliveryVehicle {
            try await world.updateVehicle("dv-1", mask) {
                $0.lastLocation = .deliveryAt(37.41, -122.07)
                $0.lastLocation.updateTime = .init(date: time)
                $0.currentRouteSegment = Data([2])
                $0.remainingDistanceMeters = 7000
                $0.remainingDuration.seconds = 900
                $0.navigationStatus = .offRoute
                $0.type = .bicycle
            }
        }
        let late = try await report(at: TestClock.start - 20)
        #expect(late == DeliveryVehicle.with(newest) { $0.type = .bicycle })
        let next = try await report(at: TestClock.start)
        #expect(next.currentRouteSegment == Data([2]))
        #expect(!next.hasCurrentRouteSegmentEndPoint)
        #expect(next.remainingDistanceMeters.value == 7000)
        #expect(next.remainingDuration.seconds == 900)
        #expect(next.navigationStatus == .offRoute)
    }

    // MARK: - Stops

    @Test func `a plan assigns its tasks and tells the ways to its stops`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        for id in ["a", "b"] { try await world.createTask(id) }
        let planned = try await world.plan("dv-1", [["a"], ["b"]])
        let segments = planned.remainingVehicleJourneySegments
        #expect(segments.map { $0.stop.tasks.map(\.taskID) } == [["a"], ["b"]])
        #expect(segments.allSatisfy { $0.stop.tasks[0].taskDuration.seconds == 3600 })
        // 0.01 degrees of latitude are 1112 m; 1.3 times that, at 30 km/h.
        for segment in segments {
            #expect(abs(segment.drivingDistanceMeters.value - 1446) <= 1)
            #expect(abs(segment.drivingDuration.seconds - 173) <= 1)
            #expect(segment.path.count == 2)
        }
        #expect(segments[1].path == [.at(37.43, -122.07), .at(37.44, -122.07)])
        #expect(try await world.task("a").deliveryVehicleID == "dv-1")
        #expect(try await world.task("a").state == .open)
        #expect(try await world.vehicle("dv-1") == planned)
    }

    @Test func `a vehicle has as many stops as the engine reckons with at each report`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        let planned = try await world.plan("dv-1", Array(repeating: [], count: 500))
        #expect(planned.remainingVehicleJourneySegments.count == 500)
    }

    @Test func `what a request says of distances and durations is computed anew`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        try await world.createTask("a")
        let planned = try await world.updateVehicle("dv-1", ["remainingVehicleJourneySegments"]) {
            var segment = VehicleJourneySegment.stop(37.43, -122.07, ["a"], state: .unspecified)
            segment.drivingDistanceMeters = 1
            segment.drivingDuration.seconds = 1
            segment.path = [.at(1, 1)]
            segment.stop.tasks[0].taskDuration.seconds = 1
            segment.stop.tasks[0].targetTimeWindow.startTime.seconds = 1
            $0.remainingVehicleJourneySegments = [segment]
        }
        let segment = try #require(planned.remainingVehicleJourneySegments.first)
        #expect(segment.drivingDistanceMeters.value > 1000)
        #expect(segment.drivingDuration.seconds > 100)
        #expect(segment.path.count == 2)
        #expect(segment.stop.state == .new)
        #expect(segment.stop.tasks[0].taskDuration.seconds == 3600)
        #expect(!segment.stop.tasks[0].hasTargetTimeWindow)
    }

    @Test func `the first way is the driver's, where its route leads to the first stop`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        for id in ["a", "b"] { try await world.createTask(id) }
        try await world.plan("dv-1", [["a"], ["b"]])
        let mask = [
            "current_route_segment", "current_route_segment_end_point", "remaining_distance_meters",
            "remaining_duration",
        ]
        func report(_ end: LatLng) async throws -> VehicleJourneySegment {
            let vehicle = try await world.updateVehicle("dv-1", mask) {
                $0.currentRouteSegment = Data([1])
                $0.currentRouteSegmentEndPoint = end
                $0.remainingDistanceMeters = 700
                $0.remainingDuration.seconds = 90
            }
            return try #require(vehicle.remainingVehicleJourneySegments.first)
        }
        // A route leads to the stop that is at most 100 m from its end.
        let led = try await report(.at(37.43089, -122.07))
        #expect(led.drivingDistanceMeters.value == 700)
        #expect(led.drivingDuration.seconds == 90)
        // A driver that has gone silent is believed for five minutes.
        world.clock.advance(by: 300)
        let quiet = try await world.vehicle("dv-1").remainingVehicleJourneySegments[0]
        #expect(quiet.drivingDistanceMeters.value == 700)
        world.clock.advance(by: 1)
        let silent = try await world.vehicle("dv-1").remainingVehicleJourneySegments[0]
        #expect(silent.drivingDistanceMeters.value > 1000)
        try await world.updateVehicle("dv-1", ["last_location"]) { $0.lastLocation = .deliveryAt(37.42, -122.07) }
        #expect(try await report(.at(37.43, -122.07)).drivingDistanceMeters.value == 700)
        let misled = try await report(.at(37.43091, -122.07))
        #expect(misled.drivingDistanceMeters.value > 1000)
        #expect(misled.drivingDuration.seconds > 100)
    }

    @Test func `without a position nothing is told of the first way, whatever the driver reports`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1") { _ in }
        try await world.createTask("a")
        try await world.plan("dv-1", [["a"]])
        let mask = ["current_route_segment", "remaining_distance_meters", "remaining_duration"]
        let unplaced = try await world.updateVehicle("dv-1", mask) {
            $0.currentRouteSegment = Data([1])
            $0.remainingDistanceMeters = 700
            $0.remainingDuration.seconds = 90
        }
        #expect(unplaced.currentRouteSegmentEndPoint == .at(37.43, -122.07))
        #expect(!unplaced.remainingVehicleJourneySegments[0].hasDrivingDistanceMeters)
        #expect(!unplaced.remainingVehicleJourneySegments[0].hasDrivingDuration)
        let placed = try await world.updateVehicle("dv-1", ["last_location"]) {
            $0.lastLocation = .deliveryAt(37.42, -122.07)
        }
        #expect(placed.remainingVehicleJourneySegments[0].drivingDistanceMeters.value == 700)
        #expect(placed.remainingVehicleJourneySegments[0].drivingDuration.seconds == 90)
    }

    @Test func `a route without an end leads to the first stop, and no further`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        for id in ["a", "b"] { try await world.createTask(id) }
        try await world.plan("dv-1", [["a"], ["b"]])
        let mask = ["current_route_segment", "remaining_distance_meters", "remaining_duration"]
        func report(_ mask: [String], route: UInt8 = 1, meters: Int32) async throws -> (end: LatLng?, meters: Int32) {
            let vehicle = try await world.updateVehicle("dv-1", mask) {
                $0.currentRouteSegment = Data([route])
                $0.remainingDistanceMeters = .init(meters)
                $0.remainingDuration.seconds = 90
                $0.remainingVehicleJourneySegments = [.stop(37.44, -122.07, ["b"])]
            }
            let first = try #require(vehicle.remainingVehicleJourneySegments.first)
            return (
                end: vehicle.hasCurrentRouteSegmentEndPoint ? vehicle.currentRouteSegmentEndPoint : nil,
                meters: first.drivingDistanceMeters.value
            )
        }
        #expect(try await report(mask, meters: 700) == (end: .at(37.43, -122.07), meters: 700))
        #expect(try await world.vehicle("dv-1").remainingVehicleJourneySegments[0].drivingDuration.seconds == 90)
        #expect(try await report(["remaining_distance_meters"], meters: 300).meters == 300)
        // The next stop is estimated, whatever is reported of the way to the one that is gone.
        let replanned = try await report(["remaining_vehicle_journey_segments"], meters: 0)
        #expect(replanned.end == nil && replanned.meters > 2000)
        #expect(try await report(mask, meters: 300).meters > 2000)
        #expect(try await report(mask, route: 2, meters: 400) == (end: .at(37.44, -122.07), meters: 400))
        // An end that is named without a value is none.
        let endless = try await report(mask + ["current_route_segment_end_point"], route: 3, meters: 500)
        #expect(endless.end == nil && endless.meters > 2000)
    }

    @Test func `a route to a stop that is done leads to no other one near by`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        for id in ["a", "b", "c"] { try await world.createTask(id) }
        // Less than 100 m apart, each.
        let stops: [VehicleJourneySegment] = [
            .stop(37.43, -122.07, ["a"]), .stop(37.4305, -122.07, ["b"]), .stop(37.431, -122.07, ["c"]),
        ]
        func plan(_ stops: [VehicleJourneySegment]) async throws -> DeliveryVehicle {
            try await world.updateVehicle("dv-1", ["remaining_vehicle_journey_segments"]) {
                $0.remainingVehicleJourneySegments = stops
            }
        }
        func head(_ latitude: Double) async throws -> DeliveryVehicle {
            let route = ["current_route_segment", "current_route_segment_end_point", "remaining_distance_meters"]
            return try await world.updateVehicle("dv-1", route) {
                $0.currentRouteSegment = Data([1])
                $0.currentRouteSegmentEndPoint = .at(latitude, -122.07)
                $0.remainingDistanceMeters = 3
            }
        }
        func meters(_ vehicle: DeliveryVehicle) throws -> Int32 {
            try #require(vehicle.remainingVehicleJourneySegments.first).drivingDistanceMeters.value
        }
        _ = try await plan(stops)
        #expect(try await meters(head(37.4301)) == 3)
        // A stop that changes its state is still the first.
        var arriving = stops
        arriving[0].stop.state = .enroute
        #expect(try await meters(plan(arriving)) == 3)
        let replanned = try await plan(Array(stops[1...]))
        #expect(try meters(replanned) > 1000)
        #expect(!replanned.hasCurrentRouteSegmentEndPoint && replanned.remainingDistanceMeters.value == 3)
        // One to the next stop may come before the stop that is done goes.
        #expect(try await meters(head(37.431)) == 3)
        #expect(try await meters(plan(Array(stops[2...]))) == 3)
        // Nor does it lead to a stop that comes once there was none.
        try await world.createTask("d")
        _ = try await plan([])
        #expect(try await meters(plan([.stop(37.4312, -122.07, ["d"])])) > 1000)
    }

    @Test func `a route keeps leading to a stop that moves a little, or comes first again`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        for id in ["a", "b", "c", "d"] { try await world.createTask(id) }
        func first(_ stops: VehicleJourneySegment...) async throws -> Int32 {
            let vehicle = try await world.updateVehicle("dv-1", ["remaining_vehicle_journey_segments"]) {
                $0.remainingVehicleJourneySegments = stops
            }
            return try #require(vehicle.remainingVehicleJourneySegments.first).drivingDistanceMeters.value
        }
        func report(_ route: UInt8) async throws {
            try await world.updateVehicle("dv-1", ["current_route_segment", "remaining_distance_meters"]) {
                $0.currentRouteSegment = Data([route])
                $0.remainingDistanceMeters = 9000
            }
        }
        func near(_ latitude: Double, _ tasks: String...) -> VehicleJourneySegment { .stop(latitude, -122.07, tasks) }
        // So far away that the estimate is longer than what is reported.
        let far = near(37.5, "b")
        _ = try await first(near(37.43, "a", "c"), near(37.4305), far)
        try await report(1)
        // By a hair, and by 20 m.
        #expect(try await first(near(37.4300001, "a", "c"), near(37.4305), far) == 9000)
        #expect(try await first(near(37.43018, "a", "c"), near(37.4305), far) == 9000)
        #expect(try await first(near(37.43018, "a"), near(37.4305), far) == 9000)
        // Elsewhere, and back again.
        #expect(try await first(near(37.44, "a"), near(37.4305), far) < 3000)
        #expect(try await first(near(37.43, "a"), near(37.4305), far) == 9000)
        #expect(try await first(far, near(37.43, "a"), near(37.4305)) > 9000)
        #expect(try await first(near(37.43, "a"), near(37.4305), far) == 9000)
        // Once it is gone, another one near by is not led to, whatever came between.
        #expect(try await first(far, near(37.43, "a"), near(37.4305)) > 9000)
        #expect(try await first(far, near(37.4305)) > 9000)
        #expect(try await first(near(37.4305), far) < 3000)
        // A stop without tasks is known by its place.
        try await report(2)
        #expect(try await first(near(37.4305001), far) == 9000)
        #expect(try await first(far, near(37.4305)) > 9000)
        #expect(try await first(near(37.4305), far) == 9000)
        // One with tasks is not, unless it is the first.
        #expect(try await first(near(37.4305, "d"), far) == 9000)
        try await world.createTask("e")
        #expect(try await first(near(37.4305, "d"), far, near(37.4305, "e")) == 9000)
        #expect(try await first(far, near(37.4305, "e")) > 9000)
        #expect(try await first(near(37.4305, "e"), far) < 3000)
    }

    @Test func `a route that comes with a plan leads to the first stop of that plan`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        for id in ["a", "b"] { try await world.createTask(id) }
        try await world.plan("dv-1", [["a"], ["b"]])
        let mask = ["remaining_vehicle_journey_segments", "current_route_segment", "remaining_distance_meters"]
        let vehicle = try await world.updateVehicle("dv-1", mask) {
            $0.remainingVehicleJourneySegments = [.stop(37.44, -122.07, ["b"])]
            $0.currentRouteSegment = Data([1])
            $0.remainingDistanceMeters = 700
        }
        #expect(vehicle.currentRouteSegmentEndPoint == .at(37.44, -122.07))
        #expect(vehicle.remainingVehicleJourneySegments[0].drivingDistanceMeters.value == 700)
    }

    @Test func `a vehicle that has arrived has no way to its first stop`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        for id in ["a", "b"] { try await world.createTask(id) }
        let arrived = try await world.plan("dv-1", [["a"], ["b"]], state: .arrived)
        let segments = arrived.remainingVehicleJourneySegments
        #expect(segments[0].stop.state == .arrived)
        #expect(!segments[0].hasDrivingDistanceMeters)
        #expect(segments[0].path.isEmpty)
        #expect(segments[1].hasDrivingDistanceMeters)
        // And back: the recorded service takes a step back as well.
        #expect(try await world.plan("dv-1", [["a"], ["b"]]).remainingVehicleJourneySegments[0].stop.state == .new)
    }

    @Test func `a task that is dropped is closed, for good, and keeps its vehicle`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        for id in ["a", "b", "c"] { try await world.createTask(id) }
        try await world.plan("dv-1", [["a", "b"], ["c"]])
        try await world.plan("dv-1", [["c"], ["a"]])
        let dropped = try await world.task("b")
        #expect(dropped.state == .closed)
        #expect(dropped.deliveryVehicleID == "dv-1")
        #expect(try await world.task("a").state == .open)
        #expect(await code { try await world.plan("dv-1", [["b"]]) } == .failedPrecondition)
        let emptied = try await world.plan("dv-1", [])
        #expect(emptied.remainingVehicleJourneySegments.isEmpty)
        #expect(try await world.task("a").state == .closed)
        #expect(try await world.task("c").state == .closed)
    }

    private static let badStops: [@Sendable (inout VehicleJourneySegment) -> Void] = [
        { $0.clearStop() }, { $0.stop.clearPlannedLocation() }, { $0.stop.plannedLocation.clearPoint() },
        { $0.stop.plannedLocation.point = .at(91, 0) }, { $0.stop.state = .UNRECOGNIZED(9) },
    ]

    @Test(arguments: badStops.indices)
    func `a stop without a place, or in a state that nobody knows, is refused`(index: Int) async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        let outcome = await code {
            try await world.updateVehicle("dv-1", ["remaining_vehicle_journey_segments"]) {
                var segment = VehicleJourneySegment.stop(37.43, -122.07, [])
                Self.badStops[index](&segment)
                $0.remainingVehicleJourneySegments = [segment]
            }
        }
        #expect(outcome == .invalidArgument)
    }

    @Test(arguments: StoreKind.allCases)
    func `a plan that cannot be leaves everything as it was`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let world = DeliveryWorld(store: store)
            for id in ["dv-1", "dv-2"] { try await world.createVehicle(id) }
            for id in ["a", "b", "theirs", "closed"] { try await world.createTask(id) }
            try await world.plan("dv-2", [["theirs"], ["closed"]])
            try await world.plan("dv-2", [["theirs"]])
            let before = try await world.plan("dv-1", [["a"]])
            let cases: [([[String]], EngineError.Code)] = [
                ([["b"], ["theirs"]], .failedPrecondition), ([["b"], ["closed"]], .failedPrecondition),
                // Whether all tasks exist comes first, whatever their order.
                ([["b"], ["unknown"]], .notFound), ([["theirs"], ["unknown"]], .notFound),
                ([["unknown"], ["theirs"]], .notFound), ([["closed", "unknown"]], .notFound),
                ([["b"], ["b"]], .invalidArgument), ([["b", "b"]], .invalidArgument), ([["a/b"]], .invalidArgument),
                (Array(repeating: [], count: 501), .invalidArgument),
            ]
            for (stops, expected) in cases {
                #expect(await code { try await world.plan("dv-1", stops) } == expected, "\(stops)")
            }
            #expect(try await world.vehicle("dv-1") == before)
            #expect(try await world.task("a").state == .open)
            #expect(try await world.task("b").deliveryVehicleID.isEmpty)
            #expect(try await world.task("theirs").deliveryVehicleID == "dv-2")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a task goes to one of the vehicles that want it at once`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let world = DeliveryWorld(store: store)
            let vehicles = (0..<8).map { "dv-\($0)" }
            for id in vehicles { try await world.createVehicle(id) }
            for round in 0..<10 {
                try await world.createTask("task-\(round)")
                let outcomes = await withTaskGroup(of: EngineError.Code?.self) { group in
                    for id in vehicles {
                        group.addTask { await code { try await world.plan(id, [["task-\(round)"]]) } }
                    }
                    return await group.reduce(into: []) { $0.append($1) }
                }
                #expect(outcomes.count { $0 == nil } == 1)
                #expect(outcomes.count { $0 == .failedPrecondition } == 7)
                var holders: [String] = []
                for id in vehicles {
                    let tasks = try await world.vehicle(id).remainingVehicleJourneySegments.flatMap(\.stop.tasks)
                    if tasks.contains(where: { $0.taskID == "task-\(round)" }) { holders.append(id) }
                }
                #expect(holders == [try await world.task("task-\(round)").deliveryVehicleID])
            }
        }
    }

    @Test func `windows of tasks are told by GetDeliveryVehicle, as they are now`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        try await world.createTask("a")
        let planned = try await world.plan("dv-1", [["a"]])
        #expect(!planned.remainingVehicleJourneySegments[0].stop.tasks[0].hasTargetTimeWindow)
        try await world.updateTask("a", ["targetTimeWindow"]) {
            $0.targetTimeWindow.startTime.seconds = 1_800_000_000
            $0.targetTimeWindow.endTime.seconds = 1_800_003_600
        }
        let window = try await world.vehicle("dv-1").remainingVehicleJourneySegments[0].stop.tasks[0].targetTimeWindow
        #expect(window.endTime.seconds == 1_800_003_600)
    }

    @Test func `a list tells vehicles without their ways`() async throws {
        let world = DeliveryWorld()
        for id in ["dv-1", "dv-2"] { try await world.createVehicle(id) }
        try await world.createVehicle("far") {
            $0.lastLocation.rawLocation = .at(10, 10)
            $0.attributes = [.with { $0.key = "depot" }]
        }
        try await world.createTask("a")
        try await world.plan("dv-1", [["a"]])
        func list(_ change: (inout ListDeliveryVehicles.Request) -> Void) async throws -> [DeliveryVehicle] {
            var request = ListDeliveryVehicles.Request.with { $0.parent = "providers/acme" }
            change(&request)
            let response = try await world.engine.perform(ListDeliveryVehicles.self, request, token: deliveryToken)
            #expect(response.totalSize == response.deliveryVehicles.count)
            return response.deliveryVehicles
        }
        let all = try await list { _ in }
        #expect(all.map(\.name.last) == ["1", "2", "r"])
        #expect(all.allSatisfy { $0.remainingVehicleJourneySegments.isEmpty })
        let near = try await list {
            $0.viewport.low = .at(9, 9)
            $0.viewport.high = .at(11, 11)
        }
        #expect(near.map(\.name.last) == ["r"])
        #expect(try await list { $0.filter = "attributes.depot = \"\"" }.map(\.name.last) == ["r"])
        #expect(await code { try await list { $0.filter = "state = OPEN" } } == .invalidArgument)
    }

    @Test func `a vehicle goes once it has no open tasks`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        try await world.createTask("a")
        try await world.plan("dv-1", [["a"]])
        #expect(await code { try await world.deleteVehicle("dv-1") } == .failedPrecondition)
        try await world.plan("dv-1", [])
        #expect(await code { try await world.deleteVehicle("dv-1") } == nil)
        #expect(await code { try await world.vehicle("dv-1") } == .notFound)
        #expect(await code { try await world.deleteVehicle("dv-1") } == .notFound)
        // Its tasks are still there, and tell nothing of a way.
        #expect(try await world.task("a").deliveryVehicleID == "dv-1")
    }
}
