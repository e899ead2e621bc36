// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

enum DeleteTask: WritingCall {
    typealias Request = Maps_Fleetengine_Delivery_V1_DeleteTaskRequest
    typealias Response = Google_Protobuf_Empty

    static let method = FleetMethod.deleteTask

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        try Self.access(task: request.name)
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineTransaction, context: CallContext
    ) throws -> Response {
        let (id, name) = try access.taskAddress
        guard let task = try store.task(id, of: access.provider) else { throw EngineError.notFound(name) }
        guard task.state != .open || task.deliveryVehicleID.isEmpty else {
            throw EngineError.failedPrecondition(
                "TASK_ASSIGNED",
                "\(name) is open and assigned to a delivery vehicle; take it from the vehicle's stops first."
            )
        }
        try store.remove(id, of: access.provider, as: DeliveryTask.self)
        return Response()
    }
}
