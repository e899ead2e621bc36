// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

enum DeleteTrip: WritingCall {
    typealias Request = Maps_Fleetengine_V1_DeleteTripRequest
    typealias Response = Google_Protobuf_Empty

    static let method = FleetMethod.deleteTrip

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        try Self.access(trip: request.name)
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineTransaction, context: CallContext
    ) throws -> Response {
        let (id, name) = try access.tripAddress
        guard let trip = try store.trip(id, of: access.provider) else { throw EngineError.notFound(name) }
        guard !trip.isUnderway else {
            throw EngineError.failedPrecondition(
                "TRIP_UNDERWAY",
                "\(name) is assigned to a vehicle and not over; end it or clear its vehicle_id first."
            )
        }
        try store.remove(id, of: access.provider, as: Trip.self)
        return Response()
    }
}
