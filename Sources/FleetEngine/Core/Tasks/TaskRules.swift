// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// What creating and updating a task does to it; values in, values out.
enum TaskRules {
    /// Makes a task from the body of its creation.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`, also for what only the service or an update may set.
    static func create(_ body: DeliveryTask, name: ResourceName) throws(EngineError) -> DeliveryTask {
        try self.checkUnset(body)
        guard body.state == .open else { throw self.invalid("state", "must be OPEN on creation") }
        try self.checkKind(body)
        var task = body
        task.name = name.description
        if !body.trackingID.isEmpty {
            do {
                task.trackingID = try TrackingID(checking: body.trackingID).value
            } catch {
                throw .invalidArgument(error.message, field: "tracking_id")
            }
        }
        if !body.plannedLocation.hasPoint { task.clearPlannedLocation() }
        task.clearTaskOutcomeTime()
        task.clearTaskOutcomeLocation()
        task.clearJourneySharingInfo()
        try self.check(task)
        task.attributes = self.completing(task.attributes)
        return task
    }

    /// Applies an update.
    ///
    /// - Parameters:
    ///   - task: The task as it is stored.
    ///   - body: The task in the request, of which only the selected fields count.
    ///   - selection: The fields that the update mask names.
    ///   - vehicle: The vehicle that the task is or was assigned to.
    ///   - now: The time of the call.
    /// - Returns: The task as it is to be stored.
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`, or `FAILED_PRECONDITION` where the task's state forbids it.
    static func update(
        _ task: DeliveryTask, with body: DeliveryTask, selection: FieldSelection<DeliveryTask>,
        vehicle: DeliveryVehicle?, at now: Google_Protobuf_Timestamp
    ) throws(EngineError) -> DeliveryTask {
        var updated = try selection.patching(task, with: body)
        try self.check(updated)
        if selection.touches("attributes") { updated.attributes = self.completing(updated.attributes) }
        if selection.touches("state") { try self.checkState(updated.state, of: task) }
        try self.applyOutcome(&updated, from: task, selection, vehicle: vehicle, at: now)
        return updated
    }

    /// Checks an update as far as that can be done without the task.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    static func check(_ body: DeliveryTask, selection: FieldSelection<DeliveryTask>) throws(EngineError) {
        try self.check(selection.patching(.with { $0.state = .open }, with: body))
    }

    /// Gives the attributes without a value the empty text, as the service does.
    private static func completing(_ attributes: [TaskAttribute]) -> [TaskAttribute] {
        var completed = attributes
        for index in completed.indices where completed[index].taskAttributeValue == nil {
            completed[index].stringValue = ""
        }
        return completed
    }
}

// MARK: - State and outcome

extension TaskRules {
    private static func checkState(_ state: DeliveryTask.State, of task: DeliveryTask) throws(EngineError) {
        guard state != task.state else { return }
        guard task.state == .open else {
            throw .failedPrecondition(
                "TASK_CLOSED", "The task is closed and cannot be opened again; create another one.")
        }
        guard task.deliveryVehicleID.isEmpty else {
            throw .failedPrecondition(
                "TASK_ASSIGNED",
                "The task is assigned to a delivery vehicle; take it from the vehicle's stops, which closes it."
            )
        }
    }

    private static func applyOutcome(
        _ task: inout DeliveryTask, from stored: DeliveryTask, _ selection: FieldSelection<DeliveryTask>,
        vehicle: DeliveryVehicle?, at now: Google_Protobuf_Timestamp
    ) throws(EngineError) {
        let isNew = stored.taskOutcome == .unspecified
        guard isNew || task.taskOutcome == stored.taskOutcome else {
            throw .failedPrecondition("TASK_OUTCOME_SET", "The task has its outcome already, which cannot change.")
        }
        guard task.taskOutcome != .unspecified else {
            guard !task.hasTaskOutcomeTime, !task.hasTaskOutcomeLocation else {
                throw .failedPrecondition(
                    "TASK_WITHOUT_OUTCOME", "The task has no outcome; set task_outcome along with its time and place.")
            }
            return
        }
        if !task.hasTaskOutcomeTime { task.taskOutcomeTime = now }
        let isPlaceNamed = selection.touches("task_outcome_location")
        if isPlaceNamed, task.hasTaskOutcomeLocation {
            task.taskOutcomeLocationSource = .provider
        } else if isPlaceNamed || isNew {
            let point = vehicle.flatMap(self.rawPlace)
            if let point { task.taskOutcomeLocation.point = point }
            task.taskOutcomeLocationSource = point == nil ? .unspecified : .lastVehicleLocation
        }
    }

    /// Where the vehicle's device was, not where the road is that it was put on, as far as that is known.
    private static func rawPlace(of vehicle: DeliveryVehicle) -> LatLng? {
        let location = vehicle.lastLocation
        return location.hasRawLocation ? location.rawLocation : location.place
    }
}

// MARK: - Checks

extension TaskRules {
    private static func invalid(_ field: String, _ problem: String) -> EngineError {
        .invalidArgument("\(field) \(problem).", field: field)
    }

    private static func checkUnset(_ body: DeliveryTask) throws(EngineError) {
        // A sub-message without content counts as unset: clients were seen sending such.
        let later: [(String, Bool)] = [
            ("task_outcome", body.taskOutcome != .unspecified),
            ("task_outcome_time", body.taskOutcomeTime != Google_Protobuf_Timestamp()),
            ("task_outcome_location", body.taskOutcomeLocation.hasPoint),
            ("task_outcome_location_source", body.taskOutcomeLocationSource != .unspecified),
            ("delivery_vehicle_id", !body.deliveryVehicleID.isEmpty),
            ("journey_sharing_info", body.journeySharingInfo != DeliveryTask.JourneySharingInfo()),
        ]
        for (field, isSet) in later where isSet { throw self.invalid(field, "cannot be set on creation") }
    }

    private static func checkKind(_ body: DeliveryTask) throws(EngineError) {
        guard body.hasTaskDuration else { throw self.invalid("task_duration", "is required") }
        try body.taskDuration.check("task_duration")
        let isShipment: Bool
        switch body.type {
        case .pickup, .delivery: isShipment = true
        case .scheduledStop, .unavailable: isShipment = false
        case .unspecified, .UNRECOGNIZED:
            throw self.invalid("type", "must be PICKUP, DELIVERY, SCHEDULED_STOP or UNAVAILABLE")
        }
        guard body.trackingID.isEmpty != isShipment else {
            throw self.invalid(
                "tracking_id", isShipment ? "is required for PICKUP and DELIVERY" : "is for PICKUP and DELIVERY only")
        }
        // A sub-message without content counts as unset here, too.
        guard body.type == .unavailable || body.plannedLocation.hasPoint else {
            throw self.invalid("planned_location", "is required, with a point")
        }
        if body.plannedLocation.hasPoint { try self.check(body.plannedLocation, "planned_location") }
    }

    private static func check(_ task: DeliveryTask) throws(EngineError) {
        guard task.state == .open || task.state == .closed else {
            throw self.invalid("state", "must be OPEN or CLOSED")
        }
        guard DeliveryTask.TaskOutcome.allCases.contains(task.taskOutcome) else {
            throw self.invalid("task_outcome", "is not a known outcome")
        }
        try task.taskOutcomeTime.check("task_outcome_time")
        if task.hasTaskOutcomeLocation { try self.check(task.taskOutcomeLocation, "task_outcome_location") }
        if task.hasTargetTimeWindow {
            let window = task.targetTimeWindow
            guard window.hasStartTime, window.hasEndTime else {
                throw self.invalid("target_time_window", "needs start_time and end_time")
            }
            try window.startTime.check("target_time_window.start_time")
            try window.endTime.check("target_time_window.end_time")
            guard !(window.endTime < window.startTime) else {
                throw self.invalid("target_time_window", "ends before it starts")
            }
        }
        try TrackingVisibility.check(task.taskTrackingViewConfig)
        try AttributeRules.check(task.attributes)
    }

    private static func check(
        _ place: Maps_Fleetengine_Delivery_V1_LocationInfo, _ field: String
    ) throws(EngineError) {
        guard place.hasPoint else { throw self.invalid(field, "needs a point") }
        try place.point.check("\(field).point")
    }
}
