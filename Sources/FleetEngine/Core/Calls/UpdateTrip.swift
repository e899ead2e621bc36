// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// `TripService.UpdateTrip`.
enum UpdateTrip: WritingCall {
    typealias Request = Maps_Fleetengine_V1_UpdateTripRequest
    typealias Response = Trip

    static let method = FleetMethod.updateTrip

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        try Self.access(trip: request.name, maskedFields: request.updateMask.paths)
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineTransaction, context: CallContext
    ) throws -> Response {
        let (id, name) = try access.tripAddress
        let selection = try TripFields.table.select(request.updateMask)
        guard request.hasTrip else { throw EngineError.invalidArgument("trip is required.", field: "trip") }
        let now = Google_Protobuf_Timestamp(stamping: context.now)
        guard let trip = try store.trip(id, of: access.provider) else {
            // A request that is wrong in itself is told so, whether or not the trip exists.
            try TripRules.check(request.trip, selection: selection)
            throw EngineError.notFound(name)
        }
        let updated = try TripRules.update(trip, with: request.trip, selection: selection, at: now)
        let scene = try store.scene(of: updated, id, before: trip, provider: access.provider)
        let changed = try TripEffects.apply(to: scene, from: trip, at: now)
        try store.put(changed.trip, id, of: access.provider, at: now)
        try store.putSurroundings(of: changed, from: scene, provider: access.provider, at: now)
        return changed.shown(context: context)
    }
}
