// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

enum CreateTask: WritingCall {
    typealias Request = Maps_Fleetengine_Delivery_V1_CreateTaskRequest
    typealias Response = DeliveryTask

    static let method = FleetMethod.createTask

    static func accessWithoutIDs(_ request: Request) throws(EngineError) -> AccessRequest {
        try Self.access(parent: request.parent)
    }

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        var access = try Self.accessWithoutIDs(request)
        access.tasks = [try Self.id(request.taskID, field: "task_id")]
        return access
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineTransaction, context: CallContext
    ) throws -> Response {
        let (id, name) = try access.taskAddress
        guard request.hasTask else { throw EngineError.invalidArgument("task is required.", field: "task") }
        let task = try TaskRules.create(request.task, name: name)
        guard try store.task(id, of: access.provider) == nil else { throw EngineError.alreadyExists(name) }
        try store.put(task, id, of: access.provider, at: Google_Protobuf_Timestamp(stamping: context.now))
        return task
    }
}
