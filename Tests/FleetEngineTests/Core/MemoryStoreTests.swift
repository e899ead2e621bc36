// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct MemoryStoreTests {
    private struct Stop: Error {}

    @Test func `a body that throws leaves nothing behind`() async throws {
        let store = MemoryStore()
        let provider = try ProviderID(checking: "acme")
        let ids = try ["a", "b"].map { try VehicleID(checking: $0) }
        let trip = try TripID(checking: "t")
        let old = Vehicle.with { $0.maximumCapacity = 1 }
        try await store.write { try $0.put(old, ids[0], of: provider) }
        await #expect(throws: Stop.self) {
            try await store.write { transaction in
                try transaction.put(Vehicle.with { $0.maximumCapacity = 2 }, ids[0], of: provider)
                try transaction.put(Vehicle.with { $0.maximumCapacity = 3 }, ids[0], of: provider)
                try transaction.put(Vehicle(), ids[1], of: provider)
                try transaction.put(Trip(), trip, of: provider)
                #expect(try transaction.vehicle(ids[0], of: provider)?.maximumCapacity == 3)
                throw Stop()
            }
        }
        let (first, second, third) = try await store.read { reader in
            (
                try reader.vehicle(ids[0], of: provider), try reader.vehicle(ids[1], of: provider),
                try reader.trip(trip, of: provider)
            )
        }
        #expect(first == old)
        #expect(second == nil)
        #expect(third == nil)
    }

    @Test func `writes that run at once are all kept`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1", .with(.sample) { $0.attributes = [] })
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask {
                    _ = try await fixture.engine.perform(
                        UpdateVehicleAttributes.self,
                        .with {
                            $0.name = "providers/acme/vehicles/veh-1"
                            $0.attributes = [.with { $0.key = "k\(number)" }]
                        },
                        token: serverToken
                    )
                }
            }
            try await group.waitForAll()
        }
        #expect(try await fixture.vehicle("veh-1").attributes.count == 50)
    }
}
