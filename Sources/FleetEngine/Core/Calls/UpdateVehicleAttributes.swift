// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// `VehicleService.UpdateVehicleAttributes`, which adds and replaces attributes by key.
enum UpdateVehicleAttributes: WritingCall {
    typealias Request = Maps_Fleetengine_V1_UpdateVehicleAttributesRequest
    typealias Response = Maps_Fleetengine_V1_UpdateVehicleAttributesResponse

    static let method = FleetMethod.updateVehicleAttributes

    static func access(
        _ request: Request
    ) throws(EngineError) -> AccessRequest {
        try Self.access(vehicle: request.name)
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineTransaction, context: CallContext
    ) throws -> Response {
        let (id, name) = try access.vehicleAddress
        guard !request.attributes.isEmpty else {
            throw EngineError.invalidArgument("attributes is empty; list what to add or replace.", field: "attributes")
        }
        let changes = try AttributeRules.accept(request.attributes)
        guard var vehicle = try store.vehicle(id, of: access.provider) else { throw EngineError.notFound(name) }
        vehicle.attributes = AttributeRules.merge(changes, into: vehicle.attributes)
        try AttributeRules.check(vehicle.attributes)
        let now = Google_Protobuf_Timestamp(stamping: context.now)
        try store.put(vehicle, id, of: access.provider, at: now)
        return .with { $0.attributes = vehicle.attributes }
    }
}
