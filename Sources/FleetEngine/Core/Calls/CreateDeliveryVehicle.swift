// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

enum CreateDeliveryVehicle: WritingCall {
    typealias Request = Maps_Fleetengine_Delivery_V1_CreateDeliveryVehicleRequest
    typealias Response = DeliveryVehicle

    static let method = FleetMethod.createDeliveryVehicle

    static func accessWithoutIDs(_ request: Request) throws(EngineError) -> AccessRequest {
        try Self.access(parent: request.parent)
    }

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        var access = try Self.accessWithoutIDs(request)
        access.deliveryVehicle = try Self.id(request.deliveryVehicleID, field: "delivery_vehicle_id")
        return access
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineTransaction, context: CallContext
    ) throws -> Response {
        let (id, name) = try access.deliveryVehicleAddress
        let now = Google_Protobuf_Timestamp(stamping: context.now)
        let vehicle = try DeliveryVehicleRules.create(request.deliveryVehicle, name: name, at: now)
        guard try store.deliveryVehicle(id, of: access.provider) == nil else { throw EngineError.alreadyExists(name) }
        try store.put(vehicle, id, of: access.provider, at: now)
        return DeliveryVehicleView.show(vehicle, context: context)
    }
}
