// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens

/// `TripService.GetTrip`.
enum GetTrip: ReadingCall {
    typealias Request = Maps_Fleetengine_V1_GetTripRequest
    typealias Response = Trip

    static let method = FleetMethod.getTrip

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        try Self.access(trip: request.name)
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineReader, context: CallContext
    ) throws -> Response {
        let (id, name) = try access.tripAddress
        guard let trip = try store.trip(id, of: access.provider) else { throw EngineError.notFound(name) }
        let vehicle = try VehicleID(trip.vehicleID).flatMap { try store.vehicle($0, of: access.provider) }
        return TripView.show(trip, id: id.value, vehicle: vehicle, to: request, context: context)
    }
}
