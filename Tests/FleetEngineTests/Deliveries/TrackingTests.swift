// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Foundation
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct TrackingTests {
    /// The token of the recipient whose shipment is shp-1.
    private static let recipient = "delivery_consumer|trackingid=shp-1"

    /// A vehicle with a stop for each task, the last of which is the shipment's.
    private static func world(
        stops: Int, _ change: (inout TaskTrackingViewConfig) -> Void = { _ in }
    ) async throws -> DeliveryWorld {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1") {
            $0.lastLocation = .deliveryAt(37.42, -122.07)
            $0.lastLocation.rawLocation = .at(37.4201, -122.07)
        }
        let ids = (1...stops).map { "task-\($0)" }
        for id in ids {
            let isOurs = id == ids.last
            try await world.createTask(id, tracking: isOurs ? "shp-1" : "other") { task in
                task.taskDuration.seconds = 60
                if isOurs { change(&task.taskTrackingViewConfig) }
            }
        }
        try await world.plan("dv-1", ids.map { [$0] })
        return world
    }

    @Test func `a recipient sees the shipment, and the way to it on the last five stops`() async throws {
        let near = try await Self.world(stops: 5).tracking("shp-1", token: Self.recipient)
        #expect(near.name == "providers/acme/taskTrackingInfo/shp-1")
        #expect(near.trackingID == "shp-1")
        #expect(near.state == .open)
        #expect(near.plannedLocation.point == .at(37.43, -122.07))
        #expect(near.remainingStopCount.value == 5)
        #expect(near.vehicleLocation.location == .at(37.42, -122.07))
        #expect(!near.vehicleLocation.hasRawLocation)
        #expect(near.routePolylinePoints.count == 6)
        // Five ways of 1446 m at 30 km/h, and four other stops of a minute each.
        #expect(abs(near.remainingDrivingDistanceMeters.value - 7228) <= 3)
        let wait = near.estimatedArrivalTime.date.timeIntervalSince(TestClock.start)
        #expect(abs(wait - (7228 / (30 / 3.6) + 240)) < 2)
        #expect(near.estimatedTaskCompletionTime.date.timeIntervalSince(near.estimatedArrivalTime.date) == 60)

        let far = try await Self.world(stops: 6).tracking("shp-1", token: Self.recipient)
        #expect(far.state == .open)
        #expect(far.plannedLocation.point == .at(37.43, -122.07))
        #expect(Self.visible(far).isEmpty)
    }

    // MARK: - Times of arrival

    @Test(arguments: [1, 2])
    func `an estimate stays between two reports`(stops: Int) async throws {
        let world = try await Self.world(stops: stops)
        let first = try await world.tracking("shp-1")
        world.clock.advance(by: 20)
        let second = try await world.tracking("shp-1")
        #expect(second.estimatedArrivalTime == first.estimatedArrivalTime)
        #expect(second.estimatedTaskCompletionTime == first.estimatedTaskCompletionTime)
        try await world.updateVehicle("dv-1", ["last_location"]) { $0.lastLocation = .deliveryAt(37.42, -122.07) }
        let third = try await world.tracking("shp-1")
        #expect(third.estimatedArrivalTime == first.estimatedArrivalTime.advanced(by: .seconds(20)))
    }

    @Test func `a time of arrival that the driver reported stays, also once it is past`() async throws {
        let world = try await Self.world(stops: 1)
        let mask = ["current_route_segment", "current_route_segment_end_point", "remaining_duration"]
        world.clock.advance(by: 10)
        try await world.updateVehicle("dv-1", mask) {
            $0.currentRouteSegment = Data([1])
            $0.currentRouteSegmentEndPoint = .at(37.43, -122.07)
            $0.remainingDuration.seconds = 90
        }
        for _ in 0..<2 {
            let arrival = try await world.tracking("shp-1").estimatedArrivalTime
            #expect(arrival.date == TestClock.start + 100)
            world.clock.advance(by: 100)
        }
    }

    @Test func `the way on from a stop that is not left is counted from now`() async throws {
        let world = try await Self.world(stops: 2)
        // 1446 m at 30 km/h and a minute at the stop before them.
        func wait() async throws -> TimeInterval {
            try await world.tracking("shp-1").estimatedArrivalTime.date.timeIntervalSince(world.clock.now)
        }
        world.clock.advance(by: 200)
        let late = try await wait()
        #expect(abs(late - 233.5) < 1)
        try await world.plan("dv-1", [["task-1"], ["task-2"]], state: .arrived)
        world.clock.advance(by: 20)
        let arrived = try await wait()
        #expect(abs(arrived - 233.5) < 1)
    }

    // MARK: - The line of the way

    private static let door = LatLng.at(37.4312345, -122.0712345)
    private static let ours = LatLng.at(37.4412345, -122.0712345)
    private static let stops: [VehicleJourneySegment] = [
        .stop(door.latitude, door.longitude, ["a"]), .stop(ours.latitude, ours.longitude, ["b"]),
    ]

    @Test func `the line of the way does not tell the doors of the recipients before`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        try await world.createTask("a", tracking: "other")
        try await world.createTask("b")
        try await world.updateVehicle("dv-1", ["remaining_vehicle_journey_segments"]) {
            $0.remainingVehicleJourneySegments = Self.stops
        }
        let near = LatLng.at(37.431, -122.071)
        let line = try await world.tracking("shp-1", token: Self.recipient).routePolylinePoints
        #expect(line == [.at(37.42, -122.07), near, Self.ours])
        // A vehicle that stands at the door of another has its way from there.
        try await world.updateVehicle("dv-1", ["remaining_vehicle_journey_segments"]) {
            $0.remainingVehicleJourneySegments = Self.stops
            $0.remainingVehicleJourneySegments[0].stop.state = .arrived
        }
        #expect(try await world.tracking("shp-1", token: Self.recipient).routePolylinePoints == [near, Self.ours])
    }

    /// Roads with a bend every 25 m or so.
    private struct Roads: RouteEstimator {
        var followsRoads: Bool { true }

        func isKnown(from start: LatLng, to end: LatLng, by category: Vehicle.VehicleType.Category) -> Bool { true }

        func estimate(
            from start: LatLng, to end: LatLng, by category: Vehicle.VehicleType.Category
        ) -> RouteEstimate {
            let path = (0...50).map { step in
                let part = Double(step) / 50
                return LatLng.at(
                    start.latitude + (end.latitude - start.latitude) * part,
                    start.longitude + (end.longitude - start.longitude) * part)
            }
            return RouteEstimate(meters: 1500, duration: .seconds(200), path: path)
        }
    }

    @Test func `the line along roads has no bend by the door of a recipient before`() {
        let vehicle = DeliveryVehicle.with {
            $0.lastLocation = .deliveryAt(37.42, -122.07)
            $0.remainingVehicleJourneySegments = Self.stops
        }
        let line = TrackingView.show(
            .with { $0.state = .open }, id: "b", name: .taskTrackingInfo(TestID.acme, TestID.id("shp-1")),
            vehicle: vehicle,
            context: CallContext(now: TestClock.start, routes: Roads(), seesEveryVehicle: false)
        ).routePolylinePoints
        let near = Self.door.rough
        #expect(line.count { $0 == near } == 1)
        #expect(line.allSatisfy { $0 == near || $0.meters(to: near) > LatLng.roughMeters })
        #expect(line.count > 80)
        #expect(line.first == LatLng.at(37.42, -122.07))
        #expect(line.last.map { $0.meters(to: Self.ours) < 1 } == true)
    }

    // MARK: - Visibility

    private static func visible(_ info: TaskTrackingInfo) -> Set<String> {
        var visible: Set<String> = []
        if !info.routePolylinePoints.isEmpty { visible.insert("route") }
        if info.hasEstimatedArrivalTime { visible.insert("arrival") }
        if info.hasEstimatedTaskCompletionTime { visible.insert("completion") }
        if info.hasRemainingDrivingDistanceMeters { visible.insert("distance") }
        if info.hasRemainingStopCount { visible.insert("stops") }
        if info.hasVehicleLocation { visible.insert("location") }
        return visible
    }

    private typealias Gate = (
        name: String,
        path: any WritableKeyPath<TaskTrackingViewConfig, TaskTrackingViewConfig.VisibilityOption> & Sendable
    )

    private static let gates: [Gate] = [
        ("route", \.routePolylinePointsVisibility), ("arrival", \.estimatedArrivalTimeVisibility),
        ("completion", \.estimatedTaskCompletionTimeVisibility), ("distance", \.remainingDrivingDistanceVisibility),
        ("stops", \.remainingStopCountVisibility), ("location", \.vehicleLocationVisibility),
    ]

    @Test(arguments: gates.indices)
    func `each part of the way has a gate of its own`(index: Int) async throws {
        let gate = Self.gates[index]
        let all = Set(Self.gates.map(\.name))
        let hidden = try await Self.world(stops: 1) { $0[keyPath: gate.path].never = true }
        #expect(Self.visible(try await hidden.tracking("shp-1")) == all.subtracting([gate.name]))
        let shown = try await Self.world(stops: 6) { $0[keyPath: gate.path].always = true }
        #expect(Self.visible(try await shown.tracking("shp-1")) == [gate.name])
    }

    private typealias Option = TaskTrackingViewConfig.VisibilityOption

    /// Two stops ahead: 2892 m and 407 s away.
    private static let thresholds: [(@Sendable (inout Option) -> Void, Bool)] = [
        ({ $0.remainingStopCountThreshold = 2 }, true), ({ $0.remainingStopCountThreshold = 1 }, false),
        ({ $0.remainingDrivingDistanceMetersThreshold = 2900 }, true),
        ({ $0.remainingDrivingDistanceMetersThreshold = 2880 }, false),
        ({ $0.durationUntilEstimatedArrivalTimeThreshold.seconds = 410 }, true),
        ({ $0.durationUntilEstimatedArrivalTimeThreshold.seconds = 400 }, false),
    ]

    @Test(arguments: thresholds.indices)
    func `a threshold opens where the figure is at most as large`(index: Int) async throws {
        let (change, isVisible) = Self.thresholds[index]
        let world = try await Self.world(stops: 2) { change(&$0.vehicleLocationVisibility) }
        #expect(try await world.tracking("shp-1").hasVehicleLocation == isVisible)
    }

    /// At places whose ways have fractions of a metre below and above a half.
    @Test(arguments: [37.42, 37.4213, 37.4226, 37.4239, 37.4252, 37.4265])
    func `a threshold of distance goes by the distance that is told`(latitude: Double) async throws {
        func info(_ threshold: Int32) async throws -> TaskTrackingInfo {
            let world = try await Self.world(stops: 2) {
                $0.remainingDrivingDistanceVisibility.always = true
                $0.vehicleLocationVisibility.remainingDrivingDistanceMetersThreshold = threshold
            }
            try await world.updateVehicle("dv-1", ["last_location"]) {
                $0.lastLocation = .deliveryAt(latitude, -122.07)
            }
            return try await world.tracking("shp-1")
        }
        let told = try await info(0).remainingDrivingDistanceMeters.value
        #expect(try await info(told).hasVehicleLocation)
        #expect(try await !info(told - 1).hasVehicleLocation)
    }

    @Test(arguments: [false, true])
    func `a threshold of time goes by the time of arrival that is told, whoever estimated it`(
        isReported: Bool
    ) async throws {
        let threshold = 395.0
        let world = try await Self.world(stops: 2) {
            $0.vehicleLocationVisibility.durationUntilEstimatedArrivalTimeThreshold.seconds = Int64(threshold)
        }
        if isReported {
            let mask = ["current_route_segment", "current_route_segment_end_point", "remaining_duration"]
            try await world.updateVehicle("dv-1", mask) {
                $0.currentRouteSegment = Data([1])
                $0.currentRouteSegmentEndPoint = .at(37.43, -122.07)
                $0.remainingDuration.seconds = 174
            }
        }
        // 407 s lie ahead at first; after 600 s the first stop should have been reached, and is not left.
        var isShown: [Bool] = []
        for wait in [0, 10, 10, 580] as [TimeInterval] {
            world.clock.advance(by: wait)
            let info = try await world.tracking("shp-1")
            let left = info.estimatedArrivalTime.date.timeIntervalSince(world.clock.now)
            #expect(info.hasVehicleLocation == (left <= threshold), "\(left)")
            isShown.append(info.hasVehicleLocation)
        }
        #expect(isShown == [false, false, true, true])
    }

    @Test func `an arrival that is over passes each threshold of time`() async throws {
        let world = try await Self.world(stops: 1) {
            $0.vehicleLocationVisibility.durationUntilEstimatedArrivalTimeThreshold.seconds = 0
        }
        #expect(try await !world.tracking("shp-1").hasVehicleLocation)
        world.clock.advance(by: 600)
        let late = try await world.tracking("shp-1")
        #expect(late.estimatedArrivalTime.date < world.clock.now)
        #expect(late.hasVehicleLocation)
    }

    @Test func `a vehicle that fell silent comes no nearer to a threshold of distance`() async throws {
        let world = try await Self.world(stops: 2) {
            $0.vehicleLocationVisibility.remainingDrivingDistanceMetersThreshold = 2880
        }
        world.clock.advance(by: 600)
        #expect(try await !world.tracking("shp-1").hasVehicleLocation)
    }

    @Test func `without a known place only what does not depend on it is told`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1") { _ in }
        try await world.createTask("a") {
            $0.taskTrackingViewConfig.vehicleLocationVisibility.remainingDrivingDistanceMetersThreshold = 1_000_000
        }
        try await world.plan("dv-1", [["a"]])
        #expect(Self.visible(try await world.tracking("shp-1")) == ["stops"])
        for location in [DeliveryVehicleLocation(), .with { $0.speed = 5.0 }] {
            try await world.updateVehicle("dv-1", ["last_location", "current_route_segment"]) {
                $0.lastLocation = location
                $0.currentRouteSegment = Data([1])
            }
            #expect(Self.visible(try await world.tracking("shp-1")) == ["stops"])
            let info = try await world.task("a").journeySharingInfo
            #expect(info.remainingVehicleJourneySegments.count == 1)
            #expect(!info.hasLastLocation)
            #expect(!info.lastLocationSnappable)
        }
        try await world.updateVehicle("dv-1", ["last_location"]) { $0.lastLocation.rawLocation = .at(37.42, -122.07) }
        let located = try await world.tracking("shp-1")
        #expect(Self.visible(located).count == 6)
        #expect(located.vehicleLocation.location == .at(37.42, -122.07))
        #expect(located.vehicleLocation.locationSensor == .gps)
        #expect(!located.vehicleLocation.hasRawLocation)
        #expect(try await world.task("a").journeySharingInfo.lastLocationSnappable)
    }

    @Test func `nothing of a way is told before the assignment, nor after the task is closed`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        try await world.createTask("a") { $0.taskTrackingViewConfig.vehicleLocationVisibility.always = true }
        #expect(Self.visible(try await world.tracking("shp-1")).isEmpty)
        try await world.plan("dv-1", [["a"]])
        #expect(Self.visible(try await world.tracking("shp-1")).count == 6)
        try await world.plan("dv-1", [])
        let closed = try await world.tracking("shp-1")
        #expect(closed.state == .closed)
        #expect(Self.visible(closed).isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `of the tasks of a shipment, the one on its way is told, then an open one, then the last done`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            let world = DeliveryWorld(store: store)
            try await world.createVehicle("dv-1")
            for id in ["a", "b", "c", "d"] {
                try await world.createTask(id) { $0.attributes = [.with { $0.key = id }] }
            }
            func told() async throws -> String? { try await world.tracking("shp-1").attributes.first?.key }
            try await world.plan("dv-1", [["b"]])
            #expect(try await told() == "b")
            try await world.plan("dv-1", [])
            try await world.updateTask("d", ["state"]) { $0.state = .closed }
            try await world.updateTask("c", ["state"]) { $0.state = .closed }
            #expect(try await told() == "a")
            try await world.updateTask("a", ["state"]) { $0.state = .closed }
            try await world.updateTask("c", ["task_outcome"]) { $0.taskOutcome = .failed }
            #expect(try await told() == "c")
            world.clock.advance(by: 1)
            try await world.updateTask("b", ["task_outcome"]) { $0.taskOutcome = .succeeded }
            #expect(try await told() == "b")
        }
    }

    @Test func `of the open tasks of a shipment, one that is still to be done is told, and the nearest of several`()
        async throws
    {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        for id in ["a", "b", "c", "d"] {
            try await world.createTask(id) { $0.attributes = [.with { $0.key = id }] }
        }
        try await world.plan("dv-1", [["a"], ["b"], ["c"]])
        func told() async throws -> String? { try await world.tracking("shp-1").attributes.first?.key }
        // The last one is not assigned.
        for (id, next) in [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")] {
            #expect(try await told() == id)
            try await world.updateTask(id, ["task_outcome"]) { $0.taskOutcome = .failed }
            #expect(try await told() == next)
        }
    }

    @Test func `a way that takes longer than time can be told is still told`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        let ids = (0..<9000).map { "task-\($0)" }
        try await world.createTask("last") { $0.taskTrackingViewConfig.estimatedArrivalTimeVisibility.always = true }
        for id in ids { try await world.createTask(id, tracking: "other") { $0.taskDuration.seconds = 366 * 86_400 } }
        try await world.plan("dv-1", [ids, ["last"]])
        let info = try await world.tracking("shp-1")
        #expect(try info.jsonString().contains("9999-12-31"))
    }

    @Test func `the outcome is told with its time, and its place is not`() async throws {
        let world = try await Self.world(stops: 1)
        try await world.updateTask("task-1", ["task_outcome", "task_outcome_location"]) {
            $0.taskOutcome = .succeeded
            $0.taskOutcomeLocation.point = .at(1, 2)
        }
        let info = try await world.tracking("shp-1", token: Self.recipient)
        #expect(info.taskOutcome == .succeeded)
        #expect(info.taskOutcomeTime.date == TestClock.start)
    }

    @Test func `whether a tracking id exists is told to those who hold it only`() async throws {
        let world = DeliveryWorld()
        #expect(await code { try await world.tracking("shp-1", token: Self.recipient) } == .notFound)
        #expect(await code { try await world.tracking("shp-2", token: Self.recipient) } == .permissionDenied)
    }
}
