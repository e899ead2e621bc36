// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

enum UpdateTask: UpdatingCall {
    typealias Request = Maps_Fleetengine_Delivery_V1_UpdateTaskRequest
    typealias Response = DeliveryTask

    static let method = FleetMethod.updateTask
    static let fields = TaskFields.table

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        try Self.access(task: request.task.name, maskedFields: request.updateMask.paths, field: "task.name")
    }

    static func mask(of request: Request) -> Google_Protobuf_FieldMask { request.updateMask }

    static func run(
        _ request: Request, _ selection: FieldSelection<DeliveryTask>, access: AccessRequest,
        in store: any EngineTransaction, context: CallContext
    ) throws -> Response {
        let (id, name) = try access.taskAddress
        guard let task = try store.task(id, of: access.provider) else {
            // A request that is wrong in itself is told so, whether or not the task exists.
            if let whole = try Self.wholeFields(of: request) {
                try TaskRules.check(request.task, selection: whole)
            }
            throw EngineError.notFound(name)
        }
        let now = Google_Protobuf_Timestamp(stamping: context.now)
        let vehicle =
            Self.needsVehicle(task, request, selection)
            ? try store.deliveryVehicle(of: task, provider: access.provider) : nil
        let updated = try TaskRules.update(task, with: request.task, selection: selection, vehicle: vehicle, at: now)
        try store.put(updated, id, of: access.provider, at: now)
        return TaskView.show(updated, id: id.value, vehicle: vehicle, showingStops: true, context: context)
    }

    /// Whether the answer or the record rests on the vehicle: it shows the way of one to an open task, and an outcome
    /// without a place has the vehicle's.
    private static func needsVehicle(
        _ task: DeliveryTask, _ request: Request, _ selection: FieldSelection<DeliveryTask>
    ) -> Bool {
        guard task.state != .open else { return true }
        if selection.touches("task_outcome_location") { return !request.task.hasTaskOutcomeLocation }
        return selection.touches("task_outcome") && task.taskOutcome == .unspecified
    }
}
