// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Foundation
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct RecentResourcesTests {
    private let vehicle = ResourceKey(collection: .vehicles, provider: "acme", id: "veh-1")
    private let trip = ResourceKey(collection: .trips, provider: "acme", id: "trip-1")

    private func name(_ key: ResourceKey, in recent: RecentResources) -> String? {
        (recent.find(key)?.resource as? Vehicle)?.name
    }

    private func named(_ name: String) -> Vehicle { .with { $0.name = name } }

    @Test func `what a look found is kept unless a group was committed meanwhile`() {
        let recent = RecentResources(limit: 10, byteLimit: 1000)
        recent.keep(.init(resource: self.named("first"), size: 1), self.vehicle, since: recent.version)
        #expect(self.name(self.vehicle, in: recent) == "first")
        let before = recent.version
        recent.begin([self.trip: nil])
        recent.end(isDurable: true)
        recent.keep(.init(resource: self.named("stale"), size: 1), self.vehicle, since: before)
        #expect(self.name(self.vehicle, in: recent) == "first")
    }

    @Test func `what is being changed is unknown until it is durable`() {
        let recent = RecentResources(limit: 10, byteLimit: 1000)
        recent.keep(.init(resource: self.named("old"), size: 1), self.vehicle, since: recent.version)
        recent.begin([self.vehicle: .init(resource: self.named("new"), size: 1)])
        #expect(recent.find(self.vehicle) == nil)
        // A look that began now may find the old one or the new one.
        recent.keep(.init(resource: self.named("old"), size: 1), self.vehicle, since: recent.version)
        #expect(recent.find(self.vehicle) == nil)
        recent.end(isDurable: true)
        #expect(self.name(self.vehicle, in: recent) == "new")
        recent.begin([self.vehicle: .init(resource: self.named("newer"), size: 1)])
        recent.end(isDurable: false)
        #expect(recent.find(self.vehicle) == nil)
        recent.keep(.init(resource: self.named("newer"), size: 1), self.vehicle, since: recent.version)
        #expect(self.name(self.vehicle, in: recent) == "newer")
        recent.begin([self.vehicle: nil])
        recent.end(isDurable: true)
        #expect(recent.find(self.vehicle) == nil)
    }

    @Test func `a body sees all as of one moment, or runs over the tables`() throws {
        let recent = RecentResources(limit: 10, byteLimit: 1000)
        recent.keep(.init(resource: self.named("vehicle"), size: 1), self.vehicle, since: recent.version)
        recent.keep(.init(resource: Trip(), size: 1), self.trip, since: recent.version)
        let whole = RecentReader(recent)
        #expect(try whole.vehicle(TestID.id("veh-1"), of: TestID.acme)?.name == "vehicle")
        #expect(try whole.trip(TestID.id("trip-1"), of: TestID.acme) != nil)
        #expect(whole.isEnough)
        #expect(!RecentReader(recent).isEnough)
        let torn = RecentReader(recent)
        #expect(try torn.vehicle(TestID.id("veh-1"), of: TestID.acme) != nil)
        recent.begin([:])
        recent.end(isDurable: true)
        #expect(throws: RecentReader.Unknown.self) { try torn.trip(TestID.id("trip-1"), of: TestID.acme) }
        #expect(!torn.isEnough)
    }

    @Test func `those wanted lately stay, and no more than the limit`() {
        let recent = RecentResources(limit: 8, byteLimit: 1000)
        let keys = (0..<100).map { ResourceKey(collection: .vehicles, provider: "acme", id: "other-\($0)") }
        recent.keep(.init(resource: self.named("wanted"), size: 1), self.vehicle, since: recent.version)
        for key in keys {
            recent.keep(.init(resource: Vehicle(), size: 1), key, since: recent.version)
            #expect(self.name(self.vehicle, in: recent) == "wanted")
        }
        #expect(keys.count { recent.find($0) != nil } <= 8)
    }

    @Test func `messages together are no longer than the limit, and one that is too long is not kept`() {
        let recent = RecentResources(limit: 1000, byteLimit: 100)
        let keys = (0..<50).map { ResourceKey(collection: .vehicles, provider: "acme", id: "other-\($0)") }
        for key in keys { recent.keep(.init(resource: Vehicle(), size: 10), key, since: recent.version) }
        let known = keys.filter { recent.find($0) != nil }
        #expect((5...10).contains(known.count) && known.last == keys.last)
        recent.keep(.init(resource: self.named("short"), size: 1), self.vehicle, since: recent.version)
        recent.keep(.init(resource: self.named("long"), size: 51), self.vehicle, since: recent.version)
        #expect(recent.find(self.vehicle) == nil)
    }

    @Test func `what is removed is unknown, although it was not wanted lately`() {
        let recent = RecentResources(limit: 2, byteLimit: 1000)
        for key in [self.vehicle, self.trip] {
            recent.keep(.init(resource: Vehicle(), size: 1), key, since: recent.version)
        }
        recent.begin([self.vehicle: nil])
        recent.end(isDurable: true)
        #expect(recent.find(self.vehicle) == nil)
        #expect(recent.find(self.trip) != nil)
    }

    @Test func `what is kept again and again takes its place once`() {
        let recent = RecentResources(limit: 1000, byteLimit: 100)
        recent.keep(.init(resource: Trip(), size: 10), self.trip, since: recent.version)
        for round in 0..<100 {
            recent.keep(.init(resource: self.named("\(round)"), size: 10), self.vehicle, since: recent.version)
            recent.begin([self.vehicle: .init(resource: self.named("\(round)"), size: 10)])
            recent.end(isDurable: true)
        }
        #expect(recent.find(self.trip) != nil)
        #expect(self.name(self.vehicle, in: recent) == "99")
    }

    @Test func `a closed memory knows and keeps nothing`() {
        // One of them is of the generation before.
        let recent = RecentResources(limit: 2, byteLimit: 1000)
        for key in [self.vehicle, self.trip] {
            recent.keep(.init(resource: Vehicle(), size: 1), key, since: recent.version)
        }
        recent.close()
        #expect(recent.find(self.vehicle) == nil && recent.find(self.trip) == nil)
        recent.keep(.init(resource: Vehicle(), size: 1), self.vehicle, since: recent.version)
        #expect(recent.find(self.vehicle) == nil)
    }

    @Test func `the store answers from memory what it looked up or changed, and never what it no longer holds`()
        async throws
    {
        try await withTemporaryFolder { folder in
            let store = try SQLiteStore(path: folder.appending(path: "engine.sqlite").path)
            for round in 0..<3 {
                try await store.write {
                    try $0.put(Vehicle.at(1, 2, name: "round-\(round)"), TestID.vehicle, of: TestID.acme)
                }
                // From memory, then from the tables, as a count is not kept.
                for counts in [false, true] {
                    let name = try await store.read { reader in
                        if counts { _ = try reader.count(.vehicles, of: TestID.acme) }
                        return try reader.vehicle(TestID.vehicle, of: TestID.acme)?.name
                    }
                    #expect(name == "round-\(round)")
                }
            }
            try await store.write { try $0.remove(TestID.vehicle, of: TestID.acme, as: Vehicle.self) }
            #expect(try await store.read { try $0.vehicle(TestID.vehicle, of: TestID.acme) } == nil)
            try await store.close()
            await #expect(throws: EngineError.self) {
                try await store.read { try $0.vehicle(TestID.vehicle, of: TestID.acme) }
            }
        }
    }
}
