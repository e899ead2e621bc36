// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// `TripService.UpdateTrip`.
enum UpdateTrip: UpdatingCall {
    typealias Request = Maps_Fleetengine_V1_UpdateTripRequest
    typealias Response = Trip

    static let method = FleetMethod.updateTrip
    static let fields = TripFields.table

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        var access = try Self.access(trip: request.name, maskedFields: request.updateMask.paths)
        if access.maskedFields.contains(where: { $0 == "vehicle_id" || $0 == "vehicleId" }) {
            // Its stops are what `vehicle_waypoints` of the same update puts in order.
            access.nextVehicleOfTrip = VehicleID(request.trip.vehicleID)
        }
        return access
    }

    static func mask(of request: Request) -> Google_Protobuf_FieldMask { request.updateMask }

    static func run(
        _ request: Request, _ selection: FieldSelection<Trip>, access: AccessRequest,
        in store: any EngineTransaction, context: CallContext
    ) throws -> Response {
        let (id, name) = try access.tripAddress
        guard request.hasTrip else { throw EngineError.invalidArgument("trip is required.", field: "trip") }
        let now = Google_Protobuf_Timestamp(stamping: context.now)
        guard let trip = try store.trip(id, of: access.provider) else {
            // A request that is wrong in itself is told so, whether or not the trip exists.
            if let whole = try Self.wholeFields(of: request) {
                try TripRules.check(request.trip, selection: whole)
            }
            throw EngineError.notFound(name)
        }
        let updated = try TripRules.update(trip, with: request.trip, selection: selection, at: now)
        let scene = try store.scene(of: updated, id, before: trip, provider: access.provider)
        try TripRules.checkState(of: trip, with: request.trip, updated, selection: selection)
        let changed = try TripEffects.apply(to: scene, from: trip, at: now)
        try store.put(changed.trip, id, of: access.provider, at: now)
        try store.putSurroundings(of: changed, from: scene, provider: access.provider, at: now)
        return changed.shown(context: context)
    }
}
