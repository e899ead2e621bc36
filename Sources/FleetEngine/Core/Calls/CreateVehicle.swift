// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// `VehicleService.CreateVehicle`.
enum CreateVehicle: WritingCall {
    typealias Request = Maps_Fleetengine_V1_CreateVehicleRequest
    typealias Response = Vehicle

    static let method = FleetMethod.createVehicle

    static func accessWithoutIDs(_ request: Request) throws(EngineError) -> AccessRequest {
        try Self.access(parent: request.parent)
    }

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        var access = try Self.accessWithoutIDs(request)
        access.vehicle = try Self.id(request.vehicleID, field: "vehicle_id")
        return access
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineTransaction, context: CallContext
    ) throws -> Response {
        let (id, name) = try access.vehicleAddress
        guard request.hasVehicle else { throw EngineError.invalidArgument("vehicle is required.", field: "vehicle") }
        let now = Google_Protobuf_Timestamp(stamping: context.now)
        let vehicle = try VehicleRules.create(request.vehicle, name: name, at: now)
        guard try store.vehicle(id, of: access.provider) == nil else { throw EngineError.alreadyExists(name) }
        try store.put(vehicle, id, of: access.provider, at: now)
        return VehicleView.show(vehicle, context: context).whole
    }
}
