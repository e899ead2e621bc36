// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Foundation
import SwiftProtobuf
import Testing

@testable import FleetEngine

/// How often calls ask a store that is far away.
@Suite struct ReadAheadTests {
    private let store = FarStore()

    /// How often a body asks.
    private func questions(_ body: () async throws -> Void) async throws -> Int {
        self.store.questions.withLock { $0 = 0 }
        try await body()
        return self.store.questions.withLock { $0 }
    }

    @Test func `what a call names is asked for at once, however much it is`() async throws {
        let world = DeliveryWorld(store: self.store)
        let ids = (0..<20).map { "t-\($0)" }
        let batch = BatchCreateTasks.Request.with {
            $0.parent = "providers/acme"
            $0.requests = ids.map { DeliveryWorld.creation(of: $0) }
        }
        let forBatch = try await self.questions {
            _ = try await world.engine.perform(BatchCreateTasks.self, batch, token: "delivery_server|taskids=*")
        }
        #expect(forBatch == 1)
        try await world.createVehicle("dv-1")
        let forPlan = try await self.questions { try await world.plan("dv-1", [ids]) }
        #expect(forPlan == 2, "the vehicle, and its tasks")
        let forVehicle = try await self.questions { _ = try await world.vehicle("dv-1") }
        #expect(forVehicle == 2, "the vehicle, and its tasks")
        try await world.plan("dv-1", [])
        world.clock.advance(by: 3600)
        let policy = RetentionPolicy(vehicles: nil, trips: nil, deliveryVehicles: nil, tasks: .seconds(60))
        let forSweep = try await self.questions {
            let count = try await world.engine.sweep(policy)
            #expect(count == 20)
        }
        #expect(forSweep == 1)
    }

    @Test func `a vehicle is looked up once, however many of its tasks have one tracking id`() async throws {
        let world = DeliveryWorld(store: self.store)
        let ids = (0..<50).map { "t-\($0)" }
        for vehicle in ["dv-1", "dv-2"] { try await world.createVehicle(vehicle) }
        for id in ids { try await world.createTask(id) { $0.attributes = [.with { $0.key = id }] } }
        try await world.createTask("first", tracking: "other")
        try await world.plan("dv-1", [["first"]] + ids[..<25].reversed().map { [$0] })
        try await world.plan("dv-2", ids[25...].reversed().map { [$0] })
        func look() async throws -> String? {
            self.store.finds.withLock { $0 = 0 }
            return try await world.tracking("shp-1").attributes.first?.key
        }
        #expect(try await look() == "t-49", "the nearest of all")
        #expect(self.store.finds.withLock { $0 } == 2)
        try await world.plan("dv-2", [])
        #expect(try await look() == "t-24")
        #expect(self.store.finds.withLock { $0 } == 1)
        try await world.plan("dv-1", [])
        #expect(try await look() == "t-9", "the last of those that were done at once")
        #expect(self.store.finds.withLock { $0 } == 0)
    }

    @Test func `the other trips of a vehicle are asked for at once`() async throws {
        let fixture = EngineFixture(store: self.store)
        try await fixture.createVehicle("veh-1", .with(.sample) { $0.supportedTripTypes = [.shared] })
        let trip = Trip.with(.sample) {
            $0.tripType = .shared
            $0.vehicleID = "veh-1"
        }
        for number in 0..<20 { try await fixture.createTrip("trip-\(number)", trip) }
        let forCreation = try await self.questions { try await fixture.createTrip("trip-20", trip) }
        #expect(forCreation == 3, "the trip, its vehicle, and the others")
        let forUpdate = try await self.questions {
            try await fixture.updateTrip("trip-20", ["trip_status"]) { $0.tripStatus = .canceled }
        }
        #expect(forUpdate == 3)
        #expect(try await fixture.vehicle("veh-1").currentTrips.count == 20)
    }

    @Test func `a closed task's vehicle is asked for where an outcome needs its place`() async throws {
        let world = DeliveryWorld(store: self.store)
        try await world.createVehicle("dv-1")
        for id in ["a", "b"] { try await world.createTask(id) }
        try await world.plan("dv-1", [["a", "b"]])
        let whileOpen = try await self.questions { try await world.updateTask("a", ["attributes"]) }
        #expect(whileOpen == 2)
        try await world.plan("dv-1", [])
        try await world.deleteVehicle("dv-1")
        let onceClosed = try await self.questions { try await world.updateTask("a", ["attributes"]) }
        #expect(onceClosed == 1)
        let withOutcome = try await self.questions {
            let task = try await world.updateTask("a", ["task_outcome"]) { $0.taskOutcome = .succeeded }
            #expect(!task.hasTaskOutcomeLocation)
        }
        #expect(withOutcome == 2)
        let withPlace = try await self.questions {
            let task = try await world.updateTask("b", ["task_outcome", "task_outcome_location"]) {
                $0.taskOutcome = .succeeded
                $0.taskOutcomeLocation.point = .at(1, 2)
            }
            #expect(task.taskOutcomeLocationSource == .provider)
        }
        #expect(withPlace == 1)
    }
}

/// A store that counts the questions of its bodies: each look for one resource that was not read ahead, and each
/// reading ahead.
///
/// It also counts each look for one resource.
private struct FarStore: EngineStore {
    let questions = Locked(0)
    let finds = Locked(0)
    private let store = MemoryStore()

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineReader) throws -> Result
    ) async throws -> Result {
        try await self.store.read { [self] in try body(FarTransaction($0, changes: nil, self)) }
    }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineTransaction) throws -> Result
    ) async throws -> Result {
        try await self.store.write { [self] in try body(FarTransaction($0, changes: $0, self)) }
    }
}

private final class FarTransaction: EngineTransaction {
    private let tables: any EngineReader
    private let changes: (any EngineTransaction)?
    private let store: FarStore
    private var known: Set<ResourceKey> = []

    init(_ tables: any EngineReader, changes: (any EngineTransaction)?, _ store: FarStore) {
        self.tables = tables
        self.changes = changes
        self.store = store
    }

    private func ask(_ keys: [ResourceKey]) {
        guard !self.known.isSuperset(of: keys) else { return }
        self.known.formUnion(keys)
        self.store.questions.withLock { $0 += 1 }
    }

    func find<Resource: StoredResource>(
        _ id: FleetID<Resource.Kind>, of provider: ProviderID, as type: Resource.Type
    ) throws -> Resource? {
        self.store.finds.withLock { $0 += 1 }
        self.ask([ResourceKey(id, provider, type)])
        return try self.tables.find(id, of: provider, as: type)
    }

    func prefetch<Resource: StoredResource>(
        _ ids: [FleetID<Resource.Kind>], of provider: ProviderID, as type: Resource.Type
    ) throws {
        self.ask(ids.map { ResourceKey($0, provider, type) })
    }

    func isUnchanged<Resource: StoredResource>(
        _ id: FleetID<Resource.Kind>, of provider: ProviderID, as type: Resource.Type,
        since time: Google_Protobuf_Timestamp
    ) throws -> Bool {
        self.ask([ResourceKey(id, provider, type)])
        return try self.changes?.isUnchanged(id, of: provider, as: type, since: time) ?? false
    }

    func scan<Resource: StoredResource>(
        _ scan: StoreScan, of provider: ProviderID, _ body: (_ id: String, Resource) throws -> Bool
    ) throws {
        try self.tables.scan(scan, of: provider, body)
    }

    func count(_ collection: StoreCollection, of provider: ProviderID) throws -> Int {
        try self.tables.count(collection, of: provider)
    }

    func providers() throws -> [ProviderID] { try self.tables.providers() }

    func put<Resource: StoredResource>(
        _ resource: Resource, _ id: FleetID<Resource.Kind>, of provider: ProviderID, at now: Google_Protobuf_Timestamp?
    ) throws {
        try self.changes?.put(resource, id, of: provider, at: now)
    }

    func remove<Resource: StoredResource>(
        _ id: FleetID<Resource.Kind>, of provider: ProviderID, as type: Resource.Type
    ) throws {
        try self.changes?.remove(id, of: provider, as: type)
    }
}
