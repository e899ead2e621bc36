// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI

/// The fields of a task as update masks and filters see them.
enum TaskFields {
    static let table = FieldTable<DeliveryTask>(
        writable: [
            .value("state", \.state),
            .value("task_outcome", \.taskOutcome),
            .message("task_outcome_time", \.taskOutcomeTime, isSet: \.hasTaskOutcomeTime) { $0.clearTaskOutcomeTime() },
            .message("task_outcome_location", \.taskOutcomeLocation, isSet: \.hasTaskOutcomeLocation) {
                $0.clearTaskOutcomeLocation()
            },
            .message("target_time_window", \.targetTimeWindow, isSet: \.hasTargetTimeWindow) {
                $0.clearTargetTimeWindow()
            },
            .message("task_tracking_view_config", \.taskTrackingViewConfig, isSet: \.hasTaskTrackingViewConfig) {
                $0.clearTaskTrackingViewConfig()
            },
            .value("attributes", \.attributes),
        ],
        immutable: ["name", "type", "tracking_id", "planned_location", "task_duration"],
        outputOnly: ["task_outcome_location_source", "delivery_vehicle_id", "journey_sharing_info"]
    )

    /// The fields that a filter may name.
    static let filterable: [String: ResourceFilter.FieldKind] = [
        "name": .text,
        "state": .choice(["OPEN", "CLOSED"]),
        "type": .choice(["PICKUP", "DELIVERY", "SCHEDULED_STOP", "UNAVAILABLE"]),
        "task_outcome": .choice(["SUCCEEDED", "FAILED"]),
        "task_outcome_time": .time,
        "tracking_id": .id,
        "delivery_vehicle_id": .id,
    ]

    /// The value of a task's field as filters compare it.
    static func value(
        _ field: ResourceFilter.Field, of task: DeliveryTask, attributes: [String: String]
    ) -> ResourceFilter.Value? {
        func text(_ text: String) -> ResourceFilter.Value? { text.isEmpty ? nil : .text(NormalisedText(text)) }
        return switch field {
        case .named("name"): text(task.name)
        case .named("state"): task.state.word.map(ResourceFilter.Value.choice)
        case .named("type"): task.type.word.map(ResourceFilter.Value.choice)
        case .named("task_outcome"): task.taskOutcome.word.map(ResourceFilter.Value.choice)
        case .named("task_outcome_time"): task.hasTaskOutcomeTime ? .time(task.taskOutcomeTime) : nil
        case .named("tracking_id"): text(task.trackingID)
        case .named("delivery_vehicle_id"): text(task.deliveryVehicleID)
        case .named, .attribute: ResourceFilter.attribute(field, in: attributes)
        }
    }
}

extension DeliveryTask.State {
    fileprivate var word: String? {
        switch self {
        case .open: "OPEN"
        case .closed: "CLOSED"
        case .unspecified, .UNRECOGNIZED: nil
        }
    }
}

extension DeliveryTask.TypeEnum {
    fileprivate var word: String? {
        switch self {
        case .pickup: "PICKUP"
        case .delivery: "DELIVERY"
        case .scheduledStop: "SCHEDULED_STOP"
        case .unavailable: "UNAVAILABLE"
        case .unspecified, .UNRECOGNIZED: nil
        }
    }
}

extension DeliveryTask.TaskOutcome {
    fileprivate var word: String? {
        switch self {
        case .succeeded: "SUCCEEDED"
        case .failed: "FAILED"
        case .unspecified, .UNRECOGNIZED: nil
        }
    }
}
