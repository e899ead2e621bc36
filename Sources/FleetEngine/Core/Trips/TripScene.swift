// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// A trip with all that its changes reach: the vehicles it leaves and joins, and the other trips of these.
struct TripScene: Sendable {
    /// The trip's id.
    let id: TripID
    /// The trip.
    var trip: Trip
    /// The vehicles, by the trip's `vehicle_id`.
    var vehicles: [String: Vehicle]
    /// The other trips of the vehicles, by id.
    var others: [String: Trip]

    /// The trip as the response to its change shows it: with the stops of its vehicle, which reads never show.
    ///
    /// Those behind the trip's last one, which are other passengers' alone, are for who may read the vehicle.
    func shown(context: CallContext) -> Trip {
        let vehicle = self.vehicles[self.trip.vehicleID]
        var shown = TripView.show(self.trip, id: self.id.value, vehicle: vehicle, context: context)
        if let vehicle, let id = VehicleID(self.trip.vehicleID), self.trip.isUnderway {
            shown.vehicleWaypoints =
                context.mayRead(id) ? VehicleView.timed(vehicle, context: context) : shown.remainingWaypoints
        }
        return shown
    }
}

extension EngineReader {
    /// The trips of a vehicle, by id.
    func trips(of vehicle: Vehicle, provider: ProviderID) throws -> [String: Trip] {
        let ids = vehicle.currentTrips.compactMap { TripID($0) }
        try self.prefetch(ids, of: provider, as: Trip.self)
        var trips: [String: Trip] = [:]
        for id in ids { trips[id.value] = try self.trip(id, of: provider) }
        return trips
    }

    /// Collects what a change of a trip reaches.
    ///
    /// - Parameters:
    ///   - trip: The trip as it shall be.
    ///   - id: The trip's id.
    ///   - before: The trip as it was; `nil` for a new one.
    ///   - provider: The provider of all of them.
    /// - Returns: The trip, its vehicles and their other trips.
    /// - Throws: ``EngineError`` with `NOT_FOUND` for a vehicle that does not exist.
    func scene(of trip: Trip, _ id: TripID, before: Trip?, provider: ProviderID) throws -> TripScene {
        var scene = TripScene(id: id, trip: trip, vehicles: [:], others: [:])
        for text in Set([trip.vehicleID, before?.vehicleID ?? ""]) {
            guard let vehicleID = VehicleID(text) else { continue }
            guard let vehicle = try self.vehicle(vehicleID, of: provider) else {
                // A vehicle may be deleted once its trips are over, which keep its id.
                if text == before?.vehicleID { continue }
                throw EngineError.notFound(.vehicle(provider, vehicleID))
            }
            scene.vehicles[text] = vehicle
            for (other, trip) in try self.trips(of: vehicle, provider: provider) where other != id.value {
                scene.others[other] = trip
            }
        }
        return scene
    }
}

extension EngineTransaction {
    /// Puts the vehicles and other trips that a change of a trip reached, as far as they differ; without a time, where
    /// that is not to count as a change of theirs.
    func putSurroundings(
        of scene: TripScene, from before: TripScene, provider: ProviderID, at now: Google_Protobuf_Timestamp?
    ) throws {
        for (text, vehicle) in scene.vehicles where vehicle != before.vehicles[text] {
            guard let id = VehicleID(text) else { continue }
            try self.put(vehicle, id, of: provider, at: now)
        }
        for (text, trip) in scene.others where trip != before.others[text] {
            guard let id = TripID(text) else { continue }
            try self.put(trip, id, of: provider, at: now)
        }
    }
}
