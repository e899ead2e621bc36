// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

enum DeleteVehicle: WritingCall {
    typealias Request = Maps_Fleetengine_V1_DeleteVehicleRequest
    typealias Response = Google_Protobuf_Empty

    static let method = FleetMethod.deleteVehicle

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        try Self.access(vehicle: request.name)
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineTransaction, context: CallContext
    ) throws -> Response {
        let (id, name) = try access.vehicleAddress
        guard let vehicle = try store.vehicle(id, of: access.provider) else { throw EngineError.notFound(name) }
        guard vehicle.currentTrips.isEmpty else {
            throw EngineError.failedPrecondition(
                "VEHICLE_ON_TRIP",
                "\(name) has \(vehicle.currentTrips.count) trips that are not over; end them or take them off it first."
            )
        }
        try store.remove(id, of: access.provider, as: Vehicle.self)
        return Response()
    }
}
