// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// The stops ahead of a delivery vehicle, as they are stored: places, states, and tasks with their durations.
///
/// Distances and times of the ways between them are derived on reading.
struct Journey: Sendable {
    /// How many stops a vehicle may have; each report of a location reckons with all of them.
    private static let maximumStops = 500

    var segments: [VehicleJourneySegment]

    /// Reads the stops of a request, of which nothing but place, state and task ids counts.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT` for more than 500 stops, a stop without a place, and a task that
    ///   is named twice.
    init(reading segments: [VehicleJourneySegment]) throws(EngineError) {
        let field = DeliveryVehicleFields.segments
        guard segments.count <= Self.maximumStops else {
            throw .invalidArgument(
                "\(field) holds \(segments.count) stops; at most \(Self.maximumStops) are taken.", field: field)
        }
        var seen: Set<String> = []
        var read: [VehicleJourneySegment] = []
        for segment in segments {
            guard segment.hasStop, segment.stop.plannedLocation.hasPoint else {
                throw .invalidArgument("\(field) holds a stop without planned_location.point.", field: field)
            }
            try segment.stop.plannedLocation.point.check("\(field).stop.planned_location.point")
            guard VehicleStop.State.allCases.contains(segment.stop.state) else {
                throw .invalidArgument("\(field) holds a stop whose state is not known.", field: field)
            }
            var stop = VehicleStop()
            stop.plannedLocation.point = segment.stop.plannedLocation.point
            stop.state = segment.stop.state == .unspecified ? .new : segment.stop.state
            for task in segment.stop.tasks {
                let id = try Self.taskID(task.taskID)
                guard seen.insert(id.value).inserted else {
                    throw .invalidArgument("\(field) names the task \"\(id)\" twice.", field: field)
                }
                stop.tasks.append(.with { $0.taskID = id.value })
            }
            read.append(.with { $0.stop = stop })
        }
        self.segments = read
    }

    /// The stops that a vehicle has.
    init(of vehicle: DeliveryVehicle) {
        self.segments = vehicle.remainingVehicleJourneySegments
    }

    /// The tasks of all stops, by id.
    var tasks: [String: VehicleStop.TaskInfo] {
        let tasks = self.segments.flatMap { $0.stop.tasks.map { ($0.taskID, $0) } }
        return Dictionary(tasks) { first, _ in first }
    }

    /// Where the first stop is.
    var firstPlace: LatLng? { self.segments.first?.stop.plannedLocation.point }

    /// The indices of the stops at which all tasks are done, by the tasks' ids.
    var stops: [String: Int] {
        let stops = self.segments.enumerated().flatMap { index, segment in
            segment.stop.tasks.map { ($0.taskID, index) }
        }
        return Dictionary(stops) { first, _ in first }
    }

    /// The index of the stop at which a task is done.
    func stop(of task: String) -> Int? {
        self.segments.firstIndex { $0.stop.tasks.contains { $0.taskID == task } }
    }

    /// Whether there is a stop without tasks at a place, give or take a metre.
    func hasBareStop(at place: LatLng) -> Bool {
        self.segments.contains { $0.stop.tasks.isEmpty && $0.stop.plannedLocation.point.meters(to: place) <= 1 }
    }

    private static func taskID(_ text: String) throws(EngineError) -> TaskID {
        do {
            return try TaskID(checking: text)
        } catch {
            throw .invalidArgument(
                "\(DeliveryVehicleFields.segments) names a task wrongly. \(error.message)",
                field: DeliveryVehicleFields.segments
            )
        }
    }
}

extension EngineTransaction {
    /// Gives a vehicle other stops: takes on the tasks that are new to it, and closes those that it has no more.
    ///
    /// - Parameters:
    ///   - journey: The stops of the request.
    ///   - vehicle: The vehicle, which gets the stops with the durations of their tasks.
    ///   - id: The vehicle's id.
    ///   - provider: The provider of all of them.
    ///   - now: The time of the call.
    /// - Throws: ``EngineError`` with `NOT_FOUND` for an unknown task, and `FAILED_PRECONDITION` for one that is closed
    ///   or another vehicle's.
    func replan(
        _ journey: Journey, of vehicle: inout DeliveryVehicle, _ id: DeliveryVehicleID, provider: ProviderID,
        at now: Google_Protobuf_Timestamp
    ) throws {
        var journey = journey
        let (before, kept) = (Journey(of: vehicle).tasks, journey.tasks)
        let concerned = Set(before.keys).symmetricDifference(kept.keys).compactMap { TaskID($0) }
        try self.prefetch(concerned, of: provider, as: DeliveryTask.self)
        // Whether all tasks exist is told before what stands against any.
        var added: [String: DeliveryTask] = [:]
        for text in journey.segments.flatMap({ $0.stop.tasks.map(\.taskID) }) where before[text] == nil {
            guard let taskID = TaskID(text) else { throw EngineError.unexpected }
            guard let task = try self.task(taskID, of: provider) else {
                throw EngineError.notFound(.task(provider, taskID))
            }
            added[text] = task
        }
        var changed: [(TaskID, DeliveryTask)] = []
        for stop in journey.segments.indices {
            // Changed in one go: each change through the stop would copy all its tasks.
            var tasks = journey.segments[stop].stop.tasks
            for place in tasks.indices {
                let text = tasks[place].taskID
                if let known = before[text] {
                    tasks[place] = known
                    continue
                }
                guard let taskID = TaskID(text), var task = added[text] else { throw EngineError.unexpected }
                try Self.checkAssignable(task, .task(provider, taskID), to: id)
                task.deliveryVehicleID = id.value
                changed.append((taskID, task))
                tasks[place].taskDuration = task.taskDuration
            }
            journey.segments[stop].stop.tasks = tasks
        }
        for text in before.keys where kept[text] == nil {
            guard let taskID = TaskID(text), var task = try self.task(taskID, of: provider) else { continue }
            task.state = .closed
            changed.append((taskID, task))
        }
        for (taskID, task) in changed { try self.put(task, taskID, of: provider, at: now) }
        vehicle.remainingVehicleJourneySegments = journey.segments
    }

    private static func checkAssignable(
        _ task: DeliveryTask, _ name: ResourceName, to vehicle: DeliveryVehicleID
    ) throws(EngineError) {
        guard task.state == .open else {
            throw .failedPrecondition(
                "TASK_CLOSED", "\(name) is closed and cannot be assigned again; create another task."
            )
        }
        guard task.deliveryVehicleID.isEmpty || task.deliveryVehicleID == vehicle.value else {
            throw .failedPrecondition(
                "TASK_ASSIGNED_ELSEWHERE",
                "\(name) is assigned to another delivery vehicle, whose stops must lose it first, which closes it."
            )
        }
    }
}
