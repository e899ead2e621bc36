// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct TaskCallTests {
    private typealias Change = @Sendable (inout DeliveryTask) -> Void

    @Test func `a task is created as the role script creates it`() async throws {
        let world = DeliveryWorld()
        let created = try await world.createTask("task-1")
        #expect(created.name == "providers/acme/tasks/task-1")
        #expect(created.state == .open)
        #expect(created.trackingID == "shp-1")
        #expect(created.taskDuration.seconds == 3600)
        #expect(!created.hasJourneySharingInfo)
        #expect(try await world.task("task-1") == created)
        #expect(await code { try await world.createTask("task-1") } == .alreadyExists)
    }

    @Test func `an attribute without a value has the empty text`() async throws {
        let world = DeliveryWorld()
        let count = TaskAttribute.with {
            $0.key = "b"
            $0.numberValue = 2
        }
        let given = [TaskAttribute.with { $0.key = "a" }, count]
        let kept = [
            TaskAttribute.with {
                $0.key = "a"
                $0.stringValue = ""
            }, count,
        ]
        let created = try await world.createTask("task-1") { $0.attributes = given }
        let batch = try await Self.batch(world, ["task-2"]) { $0.requests[0].task.attributes = given }
        #expect(created.attributes == kept)
        #expect(batch.map(\.attributes) == [kept])
        try await world.updateTask("task-1", ["attributes"])
        let updated = try await world.updateTask("task-1", ["attributes"]) { $0.attributes = given }
        #expect(updated.attributes == kept)
        #expect(try await world.task("task-1").attributes == kept)
    }

    private static let malformed: [Change] = [
        { $0.type = .unspecified }, { $0.type = .UNRECOGNIZED(9) }, { $0.state = .closed }, { $0.state = .unspecified },
        { $0.trackingID = "" }, { $0.trackingID = "a/b" }, { $0.clearPlannedLocation() },
        { $0.plannedLocation.clearPoint() }, { $0.plannedLocation.point = .at(91, 0) }, { $0.clearTaskDuration() },
        { $0.taskDuration.seconds = -1 }, { $0.type = .scheduledStop }, { $0.type = .unavailable },
        { $0.taskOutcome = .succeeded }, { $0.taskOutcomeTime.seconds = 5 },
        { $0.taskOutcomeLocation.point = .at(1, 1) }, { $0.taskOutcomeLocationSource = .provider },
        { $0.deliveryVehicleID = "dv-1" }, { $0.journeySharingInfo.lastLocationSnappable = true },
        { $0.targetTimeWindow.startTime.seconds = 5 },
        {
            $0.targetTimeWindow.startTime.seconds = 5
            $0.targetTimeWindow.endTime.seconds = 4
        },
        { $0.attributes = [.with { $0.key = "a:b" }] }, { $0.attributes = [.init(), .init()] },
    ]

    @Test(arguments: malformed.indices)
    func `a task that cannot be is refused`(index: Int) async throws {
        #expect(await code { try await DeliveryWorld().createTask("t", Self.malformed[index]) } == .invalidArgument)
    }

    private static let invisible: [(String, @Sendable (inout TaskTrackingViewConfig) -> Void)] = [
        ("vehicle_location_visibility.always", { $0.vehicleLocationVisibility.always = false }),
        ("estimated_arrival_time_visibility.never", { $0.estimatedArrivalTimeVisibility.never = false }),
        (
            "remaining_stop_count_visibility.remaining_stop_count_threshold",
            { $0.remainingStopCountVisibility.remainingStopCountThreshold = -1 }
        ),
        (
            "remaining_driving_distance_visibility.remaining_driving_distance_meters_threshold",
            { $0.remainingDrivingDistanceVisibility.remainingDrivingDistanceMetersThreshold = -1 }
        ),
        (
            "route_polyline_points_visibility.duration_until_estimated_arrival_time_threshold",
            { $0.routePolylinePointsVisibility.durationUntilEstimatedArrivalTimeThreshold.seconds = -1 }
        ),
        (
            "estimated_task_completion_time_visibility.always",
            { $0.estimatedTaskCompletionTimeVisibility.always = false }
        ),
    ]

    @Test(arguments: invisible)
    func `a visibility that cannot be is refused by its name`(
        field: String, change: @Sendable (inout TaskTrackingViewConfig) -> Void
    ) async throws {
        let error = await #expect(throws: EngineError.self) {
            try await DeliveryWorld().createTask("t") { change(&$0.taskTrackingViewConfig) }
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.metadata["field"] == "task_tracking_view_config.\(field)")
        #expect(error?.message.hasPrefix("task_tracking_view_config.\(field) is ") == true)
    }

    @Test func `stops and breaks have no tracking id, and a break needs no place`() async throws {
        let world = DeliveryWorld()
        try await world.createTask("stop", tracking: "") { $0.type = .scheduledStop }
        try await world.createTask("break", tracking: "") {
            $0.type = .unavailable
            $0.clearPlannedLocation()
        }
        #expect(try await world.task("break").hasPlannedLocation == false)
        try await world.createTask("rest", tracking: "") {
            $0.type = .unavailable
            $0.plannedLocation.clearPoint()
        }
        #expect(try await world.task("rest").hasPlannedLocation == false)
        #expect(
            await code {
                try await world.createTask("nowhere", tracking: "") {
                    $0.type = .scheduledStop
                    $0.clearPlannedLocation()
                }
            } == .invalidArgument)
        // The empty tracking id finds nothing.
        #expect(await code { try await world.tracking("none") } == .notFound)
    }

    // MARK: - Batches

    private static func batch(
        _ world: DeliveryWorld, _ ids: [String], _ change: (inout BatchCreateTasks.Request) -> Void = { _ in }
    ) async throws -> [DeliveryTask] {
        var request = BatchCreateTasks.Request.with {
            $0.parent = "providers/acme"
            $0.requests = ids.map { DeliveryWorld.creation(of: $0) }
        }
        change(&request)
        return try await world.engine.perform(
            BatchCreateTasks.self, request, token: "delivery_server|taskids=*"
        ).tasks
    }

    @Test(arguments: StoreKind.allCases)
    func `a batch is created whole or not at all`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let world = DeliveryWorld(store: store)
            let created = try await Self.batch(world, ["b", "a"])
            #expect(created.map(\.name.last) == ["b", "a"])
            #expect(await code { try await Self.batch(world, ["c", "a"]) } == .alreadyExists)
            #expect(await code { try await world.task("c") } == .notFound)
            #expect(await code { try await Self.batch(world, ["c", "c"]) } == .invalidArgument)
            #expect(await code { try await Self.batch(world, []) } == .invalidArgument)
            #expect(await code { try await Self.batch(world, (0...500).map { "n\($0)" }) } == .invalidArgument)
            let full = try await Self.batch(world, (1...500).map { "n\($0)" })
            #expect(full.count == 500)
            let outcome = await code {
                try await Self.batch(world, ["d", "e"]) { $0.requests[1].task.type = .unspecified }
            }
            #expect(outcome == .invalidArgument)
            #expect(await code { try await world.task("d") } == .notFound)
        }
    }

    private static let wrong: [(String, String, @Sendable (inout BatchCreateTasks.Request) -> Void)] = [
        (
            "requests[1].task.state", #"requests[1], the task "b": state must be OPEN on creation."#,
            { $0.requests[1].task.state = .closed }
        ),
        (
            "requests[2].task.planned_location.point", #"requests[2], the task "c": planned_location.point is 91.0, "#,
            { $0.requests[2].task.plannedLocation.point.latitude = 91 }
        ),
        ("requests[1].task", "requests[1].task is required.", { $0.requests[1].clearTask() }),
        ("requests[1].task_id", "requests[1].task_id is not valid. ", { $0.requests[1].taskID = "a/b" }),
        (
            "requests[2].task_id", #"requests[2].task_id is "a", as in requests[0]."#,
            { $0.requests[2].taskID = "a" }
        ),
        (
            "requests[1].parent", "requests[1].parent is another than the batch's; leave it out.",
            { $0.requests[1].parent = "providers/other" }
        ),
        (
            "requests[2].header", "requests[2].header is another than the batch's; leave it out.",
            {
                $0.header.regionCode = "DE"
                $0.requests[2].header.regionCode = "US"
            }
        ),
        ("requests", "requests is empty; list the tasks to create.", { $0.requests = [] }),
    ]

    @Test(arguments: wrong)
    func `a batch is told which of its tasks is wrong`(
        field: String, message: String, change: @Sendable (inout BatchCreateTasks.Request) -> Void
    ) async throws {
        let world = DeliveryWorld()
        let error = await #expect(throws: EngineError.self) {
            _ = try await Self.batch(world, ["a", "b", "c"], change)
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.metadata["field"] == field)
        #expect(error?.message.hasPrefix(message) == true)
    }

    @Test func `parent and header of a batch's items are empty or those of the batch`() async throws {
        let world = DeliveryWorld()
        _ = try await Self.batch(world, ["a"]) { $0.requests[0].parent = "" }
        _ = try await Self.batch(world, ["b"]) {
            $0.header.regionCode = "US"
            $0.requests[0].header.regionCode = "US"
        }
        _ = try await Self.batch(world, ["d"]) {
            $0.header.regionCode = "US"
            $0.requests[0].header = .init()
        }
        #expect(
            await code { try await Self.batch(world, ["c"]) { $0.requests[0].parent = "providers/other" } }
                == .invalidArgument)
        // Only a header of the batch binds those inside.
        _ = try await Self.batch(world, ["e"]) { $0.requests[0].header.regionCode = "US" }
        _ = try await Self.batch(world, ["f", "g"]) {
            $0.requests[0].header.regionCode = "US"
            $0.requests[1].header.regionCode = "DE"
        }
        let outcome = await code {
            try await Self.batch(world, ["c"]) {
                $0.header.regionCode = "DE"
                $0.requests[0].header.regionCode = "US"
            }
        }
        #expect(outcome == .invalidArgument)
    }

    // MARK: - State

    @Test func `a task is closed while no vehicle has it, and never opened again`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        for id in ["free", "taken"] { try await world.createTask(id) }
        try await world.plan("dv-1", [["taken"]])
        #expect(
            await code { try await world.updateTask("taken", ["state"]) { $0.state = .closed } } == .failedPrecondition)
        #expect(try await world.updateTask("taken", ["state"]) { $0.state = .open }.state == .open)
        #expect(try await world.updateTask("free", ["state"]) { $0.state = .closed }.state == .closed)
        #expect(try await world.updateTask("free", ["state"]) { $0.state = .closed }.state == .closed)
        #expect(
            await code { try await world.updateTask("free", ["state"]) { $0.state = .open } } == .failedPrecondition)
        #expect(await code { try await world.updateTask("free", ["state"]) } == .invalidArgument)
    }

    @Test func `what is fixed on creation or the service's own is in no mask`() async throws {
        let world = DeliveryWorld()
        try await world.createTask("a")
        for path in [
            "name", "type", "trackingId", "planned_location", "taskDuration", "task_outcome_location_source",
            "delivery_vehicle_id", "journeySharingInfo", "wheels", "*",
        ] {
            #expect(await code { try await world.updateTask("a", [path]) } == .invalidArgument, "\(path)")
        }
        #expect(await code { try await world.updateTask("a", []) } == .invalidArgument)
        #expect(await code { try await world.updateTask("none", ["attributes"]) } == .notFound)
        #expect(
            await code { try await world.updateTask("none", ["task_outcome"]) { $0.taskOutcome = .UNRECOGNIZED(9) } }
                == .invalidArgument)
    }

    // MARK: - Outcome

    @Test func `an outcome is set once, leaves the task open, and may be told again`() async throws {
        let world = DeliveryWorld()
        try await world.createTask("a")
        let done = try await world.updateTask("a", ["task_outcome"]) { $0.taskOutcome = .succeeded }
        #expect(done.taskOutcome == .succeeded)
        #expect(done.state == .open)
        #expect(done.taskOutcomeTime.date == TestClock.start)
        // Never assigned, so nobody knows where.
        #expect(!done.hasTaskOutcomeLocation)
        #expect(done.taskOutcomeLocationSource == .unspecified)
        world.clock.advance(by: 60)
        let again = try await world.updateTask("a", ["task_outcome"]) { $0.taskOutcome = .succeeded }
        #expect(again.taskOutcomeTime == done.taskOutcomeTime)
        let later = try await world.updateTask("a", ["task_outcome", "task_outcome_time"]) {
            $0.taskOutcome = .succeeded
            $0.taskOutcomeTime.seconds = 1_800_000_030
        }
        #expect(later.taskOutcomeTime.seconds == 1_800_000_030)
        for outcome in [DeliveryTask.TaskOutcome.failed, .unspecified] {
            #expect(
                await code { try await world.updateTask("a", ["taskOutcome"]) { $0.taskOutcome = outcome } }
                    == .failedPrecondition)
        }
    }

    @Test func `the place of an outcome is the caller's, or where the vehicle's device was`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1") {
            $0.lastLocation = .deliveryAt(37.42, -122.07)
            $0.lastLocation.rawLocation = .at(37.421, -122.071)
        }
        for id in ["a", "b"] { try await world.createTask(id) }
        try await world.plan("dv-1", [["a", "b"]])
        let filled = try await world.updateTask("a", ["task_outcome"]) { $0.taskOutcome = .failed }
        #expect(filled.taskOutcomeLocation.point == .at(37.421, -122.071))
        #expect(filled.taskOutcomeLocationSource == .lastVehicleLocation)
        let given = try await world.updateTask("b", ["task_outcome", "task_outcome_location"]) {
            $0.taskOutcome = .succeeded
            $0.taskOutcomeLocation.point = .at(1, 2)
        }
        #expect(given.taskOutcomeLocation.point == .at(1, 2))
        #expect(given.taskOutcomeLocationSource == .provider)
        let corrected = try await world.updateTask("a", ["task_outcome_location"]) {
            $0.taskOutcomeLocation.point = .at(3, 4)
        }
        #expect(corrected.taskOutcomeLocationSource == .provider)
        // The vehicle moving on changes nothing of the record.
        try await world.updateVehicle("dv-1", ["last_location"]) { $0.lastLocation = .deliveryAt(9, 9) }
        #expect(try await world.task("b").taskOutcomeLocation.point == .at(1, 2))
    }

    /// Locations whose device was at 37.421, -122.071.
    private static let readings: [DeliveryVehicleLocation] = [
        .with {
            $0.rawLocation = .at(37.421, -122.071)
            $0.flpLocation = .at(9, 9)
        },
        .with { $0.flpLocation = .at(37.421, -122.071) },
        .with {
            $0.supplementalLocation = .at(37.421, -122.071)
            $0.flpLocation = .at(9, 9)
        },
    ]

    @Test(arguments: readings)
    func `the place of an outcome is the raw position, or else the best known one`(
        reading: DeliveryVehicleLocation
    ) async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1") { $0.lastLocation = reading }
        try await world.createTask("a")
        try await world.plan("dv-1", [["a"]])
        let done = try await world.updateTask("a", ["task_outcome"]) { $0.taskOutcome = .succeeded }
        #expect(done.taskOutcomeLocation.point == .at(37.421, -122.071))
        #expect(done.taskOutcomeLocationSource == .lastVehicleLocation)
    }

    @Test(arguments: [false, true])
    func `a time or place of an outcome that a mask names, and the body leaves out, is the service's again`(
        isClosed: Bool
    ) async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        for id in ["a", "b"] { try await world.createTask(id) }
        try await world.plan("dv-1", [["a"]])
        for id in ["a", "b"] {
            try await world.updateTask(id, ["task_outcome", "task_outcome_time", "task_outcome_location"]) {
                $0.taskOutcome = .succeeded
                $0.taskOutcomeTime.seconds = 1_800_000_030
                $0.taskOutcomeLocation.point = .at(1, 2)
            }
        }
        if isClosed { try await world.plan("dv-1", []) }
        world.clock.advance(by: 60)
        let replaced = try await world.updateTask("a", ["taskOutcomeLocation"])
        #expect(replaced.taskOutcomeLocation.point == .at(37.42, -122.07))
        #expect(replaced.taskOutcomeLocationSource == .lastVehicleLocation)
        #expect(replaced.taskOutcomeTime.seconds == 1_800_000_030)
        // Never assigned, so nobody knows where.
        let cleared = try await world.updateTask("b", ["task_outcome_location"])
        #expect(!cleared.hasTaskOutcomeLocation)
        #expect(cleared.taskOutcomeLocationSource == .unspecified)
        let now = try await world.updateTask("a", ["task_outcome_time"])
        #expect(now.taskOutcomeTime.date == TestClock.start + 60)
        #expect(now.taskOutcomeLocation == replaced.taskOutcomeLocation)
        #expect(now.taskOutcomeLocationSource == .lastVehicleLocation)
        let read = try await [world.task("a"), world.task("b")]
        #expect(read.map(\.taskOutcome) == [.succeeded, .succeeded])
        #expect(read.map(\.taskOutcomeTime) == [now.taskOutcomeTime, cleared.taskOutcomeTime])
        #expect(read[0].taskOutcomeLocation == replaced.taskOutcomeLocation)
        #expect(!read[1].hasTaskOutcomeLocation)
    }

    @Test func `an outcome's time and place can be named and left out where there is none`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        try await world.createTask("a")
        try await world.plan("dv-1", [["a"]])
        let task = try await world.updateTask("a", ["task_outcome_time", "task_outcome_location"])
        #expect(!task.hasTaskOutcomeTime)
        #expect(!task.hasTaskOutcomeLocation)
        #expect(task.taskOutcomeLocationSource == .unspecified)
    }

    @Test func `time and place of an outcome need one`() async throws {
        let world = DeliveryWorld()
        try await world.createTask("a")
        #expect(
            await code { try await world.updateTask("a", ["task_outcome_time"]) { $0.taskOutcomeTime.seconds = 5 } }
                == .failedPrecondition)
        #expect(
            await code {
                try await world.updateTask("a", ["task_outcome_location"]) { $0.taskOutcomeLocation = .init() }
            }
                == .invalidArgument)
    }

    // MARK: - Reading and deletion

    @Test func `an open task tells how far its vehicle is, and not where else it goes`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        for id in ["a", "b", "c"] { try await world.createTask(id) }
        try await world.plan("dv-1", [["a"], ["b"], ["c"]])
        let info = try await world.task("b").journeySharingInfo
        #expect(info.remainingVehicleJourneySegments.count == 2)
        #expect(info.remainingVehicleJourneySegments.allSatisfy { !$0.hasStop && $0.hasDrivingDistanceMeters })
        // The lines between the stops would tell these.
        #expect(info.remainingVehicleJourneySegments.allSatisfy { $0.path.isEmpty })
        #expect(info.lastLocation.location == .at(37.42, -122.07))
        #expect(!info.lastLocationSnappable)
        let updated = try await world.updateTask("b", ["attributes"])
        #expect(
            updated.journeySharingInfo.remainingVehicleJourneySegments.map { $0.stop.tasks.map(\.taskID) }
                == [["a"], ["b"]])
        #expect(updated.journeySharingInfo.remainingVehicleJourneySegments.allSatisfy { $0.path.count == 2 })
        try await world.plan("dv-1", [["a"], ["c"]])
        #expect(try await !world.task("b").hasJourneySharingInfo)
    }

    @Test func `a task goes while no vehicle has it, and once it is closed`() async throws {
        let world = DeliveryWorld()
        try await world.createVehicle("dv-1")
        for id in ["free", "taken"] { try await world.createTask(id) }
        try await world.plan("dv-1", [["taken"]])
        #expect(await code { try await world.deleteTask("taken") } == .failedPrecondition)
        #expect(await code { try await world.deleteTask("free") } == nil)
        #expect(await code { try await world.deleteTask("free") } == .notFound)
        try await world.plan("dv-1", [])
        #expect(await code { try await world.deleteTask("taken") } == nil)
        #expect(await code { try await world.task("taken") } == .notFound)
        #expect(await code { try await world.tracking("shp-1") } == .notFound)
    }
}
