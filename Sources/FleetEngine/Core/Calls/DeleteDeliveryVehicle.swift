// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

enum DeleteDeliveryVehicle: WritingCall {
    typealias Request = Maps_Fleetengine_Delivery_V1_DeleteDeliveryVehicleRequest
    typealias Response = Google_Protobuf_Empty

    static let method = FleetMethod.deleteDeliveryVehicle

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        try Self.access(deliveryVehicle: request.name)
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineTransaction, context: CallContext
    ) throws -> Response {
        let (id, name) = try access.deliveryVehicleAddress
        guard let vehicle = try store.deliveryVehicle(id, of: access.provider) else {
            throw EngineError.notFound(name)
        }
        let tasks = Journey(of: vehicle).tasks
        guard tasks.isEmpty else {
            throw EngineError.failedPrecondition(
                "DELIVERY_VEHICLE_HAS_TASKS",
                "\(name) has \(tasks.count) open tasks; take its stops away first, which closes them."
            )
        }
        try store.remove(id, of: access.provider, as: DeliveryVehicle.self)
        return Response()
    }
}
