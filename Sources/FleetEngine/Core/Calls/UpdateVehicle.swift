// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// `VehicleService.UpdateVehicle`, the call that drivers make every few seconds.
enum UpdateVehicle: UpdatingCall {
    typealias Request = Maps_Fleetengine_V1_UpdateVehicleRequest
    typealias Response = Vehicle
    typealias Answer = ShownVehicle

    static let method = FleetMethod.updateVehicle
    static let fields = VehicleFields.table

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        try Self.access(vehicle: request.name, maskedFields: request.updateMask.paths)
    }

    static func mask(of request: Request) -> Google_Protobuf_FieldMask { request.updateMask }

    static func run(
        _ request: Request, _ selection: FieldSelection<Vehicle>, access: AccessRequest,
        in store: any EngineTransaction, context: CallContext
    ) throws -> Answer {
        let (id, name) = try access.vehicleAddress
        guard request.hasVehicle else { throw EngineError.invalidArgument("vehicle is required.", field: "vehicle") }
        let now = Google_Protobuf_Timestamp(stamping: context.now)
        guard let vehicle = try store.vehicle(id, of: access.provider) else {
            // A request that is wrong in itself is told so, whether or not the vehicle exists.
            if let whole = try Self.wholeFields(of: request)?.without("waypoints") {
                _ = try VehicleRules.update(
                    Vehicle(), with: request.vehicle, selection: whole, tripTypes: [:], at: now)
            }
            throw EngineError.notFound(name)
        }
        let reorders = selection.touches("waypoints")
        let trips = reorders ? try store.trips(of: vehicle, provider: access.provider) : [:]
        let updated = try VehicleRules.update(
            vehicle, with: request.vehicle, selection: selection, tripTypes: trips.mapValues(\.tripType), at: now
        )
        guard !VehicleRules.isReport(updated, of: vehicle, selection) else {
            try store.report(updated, id, of: access.provider, at: now)
            return VehicleView.show(updated, after: vehicle, context: context)
        }
        try store.put(updated, id, of: access.provider, at: now)
        let rerouted = Itinerary.trips(withOtherPathsIn: updated.waypoints, than: vehicle.waypoints)
        for (tripID, trip) in trips where rerouted.contains(tripID) {
            var renewed = trip
            renewed.remainingWaypointsVersion = .version(after: trip.remainingWaypointsVersion, at: now)
            try store.put(renewed, Self.id(tripID, field: "current_trips"), of: access.provider, at: now)
        }
        return VehicleView.show(updated, context: context)
    }

    static func response(of answer: ShownVehicle) -> Vehicle { answer.whole }
}
