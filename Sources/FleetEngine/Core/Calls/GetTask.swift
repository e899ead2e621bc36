// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens

enum GetTask: ReadingCall {
    typealias Request = Maps_Fleetengine_Delivery_V1_GetTaskRequest
    typealias Response = DeliveryTask

    static let method = FleetMethod.getTask

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        try Self.access(task: request.name)
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineReader, context: CallContext
    ) throws -> Response {
        let (id, name) = try access.taskAddress
        guard let task = try store.task(id, of: access.provider) else { throw EngineError.notFound(name) }
        let vehicle = try store.deliveryVehicle(of: task, provider: access.provider)
        return TaskView.show(task, id: id.value, vehicle: vehicle, showingStops: false, context: context)
    }
}

extension EngineReader {
    /// The vehicle that a task is or was assigned to.
    func deliveryVehicle(of task: DeliveryTask, provider: ProviderID) throws -> DeliveryVehicle? {
        try DeliveryVehicleID(task.deliveryVehicleID).flatMap { try self.deliveryVehicle($0, of: provider) }
    }
}
