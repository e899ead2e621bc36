// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens

@testable import FleetEngine

/// All that a store holds of one provider.
struct StoreSnapshot: Equatable, Sendable {
    var vehicles: [String: Vehicle] = [:]
    var trips: [String: Trip] = [:]
    var deliveryVehicles: [String: DeliveryVehicle] = [:]
    var tasks: [String: DeliveryTask] = [:]

    /// Looks at everything in one transaction.
    init(of store: any EngineStore) async throws {
        self = try await store.read { try Self(reading: $0) }
    }

    private init(reading reader: any EngineReader) throws {
        self.vehicles = try Self.all(in: reader)
        self.trips = try Self.all(in: reader)
        self.deliveryVehicles = try Self.all(in: reader)
        self.tasks = try Self.all(in: reader)
    }

    private static func all<Resource: StoredResource>(in reader: any EngineReader) throws -> [String: Resource] {
        var found: [String: Resource] = [:]
        try reader.scan(StoreScan(isOrdered: false), of: TestID.acme) { (id, resource: Resource) in
            found[id] = resource
            return true
        }
        return found
    }

    /// Makes a store hold this and nothing else.
    func install(in store: any EngineStore) async throws {
        try await store.write { transaction in
            let old = try StoreSnapshot(reading: transaction)
            try Self.replace(old.vehicles, by: self.vehicles, in: transaction)
            try Self.replace(old.trips, by: self.trips, in: transaction)
            try Self.replace(old.deliveryVehicles, by: self.deliveryVehicles, in: transaction)
            try Self.replace(old.tasks, by: self.tasks, in: transaction)
        }
    }

    /// Applies to a store what changed from one state to this one, blind to what others did meanwhile.
    func installChanges(since old: StoreSnapshot, in store: any EngineStore) async throws {
        try await store.write { transaction in
            try Self.replace(old.vehicles, by: self.vehicles, in: transaction)
            try Self.replace(old.trips, by: self.trips, in: transaction)
            try Self.replace(old.deliveryVehicles, by: self.deliveryVehicles, in: transaction)
            try Self.replace(old.tasks, by: self.tasks, in: transaction)
        }
    }

    private static func replace<Resource: StoredResource>(
        _ old: [String: Resource], by new: [String: Resource], in transaction: any EngineTransaction
    ) throws {
        for id in old.keys where new[id] == nil {
            try transaction.remove(TestID.id(id), of: TestID.acme, as: Resource.self)
        }
        for (id, resource) in new where old[id] != resource {
            try transaction.put(resource, TestID.id(id), of: TestID.acme)
        }
    }
}
