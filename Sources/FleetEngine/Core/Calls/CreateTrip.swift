// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// `TripService.CreateTrip`.
enum CreateTrip: WritingCall {
    typealias Request = Maps_Fleetengine_V1_CreateTripRequest
    typealias Response = Trip

    static let method = FleetMethod.createTrip

    static func accessWithoutIDs(_ request: Request) throws(EngineError) -> AccessRequest {
        var access = try Self.access(parent: request.parent)
        // They put all stops of the vehicle in order, as in an update, and are ignored without one.
        if !request.trip.vehicleWaypoints.isEmpty, !request.trip.vehicleID.isEmpty {
            access.maskedFields = ["vehicle_waypoints"]
        }
        return access
    }

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        var access = try Self.accessWithoutIDs(request)
        access.trip = try Self.id(request.tripID, field: "trip_id")
        if !access.maskedFields.isEmpty {
            access.nextVehicleOfTrip = try Self.id(request.trip.vehicleID, field: "vehicle_id")
        }
        return access
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineTransaction, context: CallContext
    ) throws -> Response {
        let (id, name) = try access.tripAddress
        guard request.hasTrip else { throw EngineError.invalidArgument("trip is required.", field: "trip") }
        let now = Google_Protobuf_Timestamp(stamping: context.now)
        let trip = try TripRules.create(request.trip, name: name, at: now)
        guard try store.trip(id, of: access.provider) == nil else { throw EngineError.alreadyExists(name) }
        let scene = try store.scene(of: trip, id, before: nil, provider: access.provider)
        let changed = try TripEffects.apply(to: scene, from: nil, at: now)
        try store.put(changed.trip, id, of: access.provider, at: now)
        try store.putSurroundings(of: changed, from: scene, provider: access.provider, at: now)
        return changed.shown(context: context)
    }
}
