// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

enum UpdateTask: WritingCall {
    typealias Request = Maps_Fleetengine_Delivery_V1_UpdateTaskRequest
    typealias Response = DeliveryTask

    static let method = FleetMethod.updateTask

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        try Self.access(task: request.task.name, maskedFields: request.updateMask.paths, field: "task.name")
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineTransaction, context: CallContext
    ) throws -> Response {
        let (id, name) = try access.taskAddress
        let selection = try TaskFields.table.select(request.updateMask)
        guard let task = try store.task(id, of: access.provider) else {
            // A request that is wrong in itself is told so, whether or not the task exists.
            try TaskRules.check(request.task, selection: selection)
            throw EngineError.notFound(name)
        }
        let now = Google_Protobuf_Timestamp(stamping: context.now)
        let vehicle = try store.deliveryVehicle(of: task, provider: access.provider)
        let updated = try TaskRules.update(task, with: request.task, selection: selection, vehicle: vehicle, at: now)
        try store.put(updated, id, of: access.provider, at: now)
        return TaskView.show(updated, id: id.value, vehicle: vehicle, showingStops: true, context: context)
    }
}
