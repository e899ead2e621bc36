// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Synchronization

/// Keeps vehicles and trips in memory, for tests and for engines that may forget.
final class MemoryStore: EngineStore {
    private let contents = Mutex(Contents())

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineReader) throws -> Result
    ) async throws -> Result {
        try self.contents.withLock { contents in try body(contents) }
    }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineTransaction) throws -> Result
    ) async throws -> Result {
        try self.contents.withLock { contents in
            let transaction = Transaction(contents)
            // Gives the only reference away, so that puts change the dictionaries in place.
            contents = Contents()
            defer { contents = transaction.contents }
            do {
                return try body(transaction)
            } catch {
                transaction.rollBack()
                throw error
            }
        }
    }
}

extension MemoryStore {
    private struct Key<ID: Hashable & Sendable>: Hashable, Sendable {
        let provider: ProviderID
        let id: ID
    }

    private struct Contents: EngineReader, Sendable {
        var vehicles: [Key<VehicleID>: Vehicle] = [:]
        var trips: [Key<TripID>: Trip] = [:]

        func vehicle(_ id: VehicleID, of provider: ProviderID) -> Vehicle? {
            self.vehicles[Key(provider: provider, id: id)]
        }

        func trip(_ id: TripID, of provider: ProviderID) -> Trip? {
            self.trips[Key(provider: provider, id: id)]
        }

        func onlineVehicles(of provider: ProviderID, in box: GeoBox) -> [Vehicle] {
            self.vehicles.compactMap { key, vehicle in
                guard key.provider == provider, vehicle.vehicleState == .online, vehicle.lastLocation.hasLocation,
                    box.contains(
                        latitude: vehicle.lastLocation.location.latitude,
                        longitude: vehicle.lastLocation.location.longitude
                    )
                else { return nil }
                return vehicle
            }
        }
    }

    private final class Transaction: EngineTransaction {
        private(set) var contents: Contents
        /// What touched entries were, absent ones included.
        private var vehiclesBefore: [Key<VehicleID>: Vehicle?] = [:]
        private var tripsBefore: [Key<TripID>: Trip?] = [:]

        init(_ contents: Contents) {
            self.contents = contents
        }

        func vehicle(_ id: VehicleID, of provider: ProviderID) -> Vehicle? {
            self.contents.vehicle(id, of: provider)
        }

        func trip(_ id: TripID, of provider: ProviderID) -> Trip? {
            self.contents.trip(id, of: provider)
        }

        func onlineVehicles(of provider: ProviderID, in box: GeoBox) -> [Vehicle] {
            self.contents.onlineVehicles(of: provider, in: box)
        }

        func put(_ vehicle: Vehicle, _ id: VehicleID, of provider: ProviderID) {
            let key = Key(provider: provider, id: id)
            let before = self.contents.vehicles.updateValue(vehicle, forKey: key)
            if !self.vehiclesBefore.keys.contains(key) { self.vehiclesBefore.updateValue(before, forKey: key) }
        }

        func put(_ trip: Trip, _ id: TripID, of provider: ProviderID) {
            let key = Key(provider: provider, id: id)
            let before = self.contents.trips.updateValue(trip, forKey: key)
            if !self.tripsBefore.keys.contains(key) { self.tripsBefore.updateValue(before, forKey: key) }
        }

        func rollBack() {
            for (key, vehicle) in self.vehiclesBefore { self.contents.vehicles[key] = vehicle }
            for (key, trip) in self.tripsBefore { self.contents.trips[key] = trip }
        }
    }
}
