// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

enum UpdateDeliveryVehicle: UpdatingCall {
    typealias Request = Maps_Fleetengine_Delivery_V1_UpdateDeliveryVehicleRequest
    typealias Response = DeliveryVehicle

    static let method = FleetMethod.updateDeliveryVehicle
    static let fields = DeliveryVehicleFields.table

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        try Self.access(
            deliveryVehicle: request.deliveryVehicle.name, maskedFields: request.updateMask.paths,
            field: "delivery_vehicle.name"
        )
    }

    static func mask(of request: Request) -> Google_Protobuf_FieldMask { request.updateMask }

    static func run(
        _ request: Request, _ selection: FieldSelection<DeliveryVehicle>, access: AccessRequest,
        in store: any EngineTransaction, context: CallContext
    ) throws -> Response {
        let (id, name) = try access.deliveryVehicleAddress
        let body = request.deliveryVehicle
        let journey =
            selection.touches(DeliveryVehicleFields.segments)
            ? try Journey(reading: body.remainingVehicleJourneySegments) : nil
        let now = Google_Protobuf_Timestamp(stamping: context.now)
        guard var vehicle = try store.deliveryVehicle(id, of: access.provider) else {
            // A request that is wrong in itself is told so, whether or not the vehicle exists.
            if let whole = try Self.wholeFields(of: request) {
                _ = try DeliveryVehicleRules.update(
                    DeliveryVehicle(), with: body, selection: whole, firstStop: nil, at: now)
            }
            throw EngineError.notFound(name)
        }
        let firstStop = (journey ?? Journey(of: vehicle)).firstPlace
        // The stops change first: the same update may bring another route.
        if let journey { DeliveryVehicleRules.endRoute(of: &vehicle, before: journey) }
        var updated = try DeliveryVehicleRules.update(
            vehicle, with: body, selection: selection, firstStop: firstStop, at: now)
        if let journey { try store.replan(journey, of: &updated, id, provider: access.provider, at: now) }
        try store.put(updated, id, of: access.provider, at: now)
        return DeliveryVehicleView.show(updated, context: context)
    }
}
