// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens

/// `TripService.GetTrip`.
enum GetTrip: ReadingCall {
    typealias Request = Maps_Fleetengine_V1_GetTripRequest
    typealias Response = Trip
    typealias Answer = ShownTrip

    static let method = FleetMethod.getTrip

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        try Self.access(trip: request.name)
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineReader, context: CallContext
    ) throws -> Answer {
        let (id, name) = try access.tripAddress
        if case .UNRECOGNIZED = request.view {
            throw EngineError.invalidArgument("view is not a known view.", field: "view")
        }
        if case .UNRECOGNIZED = request.routeFormatType {
            throw EngineError.invalidArgument("route_format_type is not a known format.", field: "route_format_type")
        }
        guard let trip = try store.trip(id, of: access.provider) else { throw EngineError.notFound(name) }
        let vehicle = try VehicleID(trip.vehicleID).flatMap { try store.vehicle($0, of: access.provider) }
        let question = TripView.Question(trip: trip, vehicle: vehicle, viewer: TripView.Viewer(request))
        // What is known of roads may change at any time.
        guard let views = context.views, !context.routes.followsRoads else {
            return TripView.answer(question, id: id.value, context: context)
        }
        return views.answer(question, id: id.value, name: request.name, context: context)
    }

    static func response(of answer: ShownTrip) -> Trip { answer.trip }
}
