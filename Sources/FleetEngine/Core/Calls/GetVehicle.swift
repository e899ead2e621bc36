// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens

/// `VehicleService.GetVehicle`.
enum GetVehicle: ReadingCall {
    typealias Request = Maps_Fleetengine_V1_GetVehicleRequest
    typealias Response = Vehicle
    typealias Answer = ShownVehicle

    static let method = FleetMethod.getVehicle

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        try Self.access(vehicle: request.name)
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineReader, context: CallContext
    ) throws -> Answer {
        let (id, name) = try access.vehicleAddress
        guard let vehicle = try store.vehicle(id, of: access.provider) else { throw EngineError.notFound(name) }
        return VehicleView.show(vehicle, to: request, context: context)
    }

    static func response(of answer: ShownVehicle) -> Vehicle { answer.whole }
}
