// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetSigning
import FleetTestSupport
import FleetTokens
import Foundation
import Logging
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct RetentionTests {
    private static let week: TimeInterval = 7 * 86_400

    @Test(arguments: StoreKind.allCases)
    func `what nobody changed for a week goes, unless it is at work`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let fixture = EngineFixture(store: StatedStore(store: store))
            let engine = fixture.engine
            for id in ["old", "fresh", "busy", "driving"] { try await fixture.createVehicle(id) }
            try await fixture.createTrip("old")
            try await fixture.createTrip("on-its-way", .with(.sample) { $0.vehicleID = "busy" })
            try await fixture.createTrip("fresh", .with(.sample) { $0.vehicleID = "busy" })
            try await fixture.createTrip("driven", .with(.sample) { $0.vehicleID = "driving" })
            fixture.advance(by: Self.week - 1)
            #expect(try await engine.sweep(RetentionPolicy()) == 0)
            try await fixture.updateVehicle("fresh", ["vehicle_state"]) { $0.vehicleState = .online }
            for id in ["fresh", "driven"] { try await fixture.updateTrip(id, ["attributes"]) }
            fixture.advance(by: 1)
            let count = try await engine.sweep(RetentionPolicy())
            #expect(count == 3)
            #expect(await code { try await fixture.vehicle("old") } == .notFound)
            #expect(await code { try await fixture.trip("old") } == .notFound)
            #expect(await code { try await fixture.trip("on-its-way") } == .notFound)
            #expect(await code { try await fixture.trip("fresh") } == nil)
            #expect(await code { try await fixture.vehicle("driving") } == nil)
            // The vehicle has lost the old trip's stops and kept the other's.
            let busy = try await fixture.vehicle("busy")
            #expect(busy.currentTrips == ["fresh"])
            #expect(busy.waypoints.map(\.tripID) == ["fresh", "fresh"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `what is put as it was before a sweep comes to it stays`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let interrupted = InterruptedStore(store: store)
            let fixture = EngineFixture(store: interrupted)
            let kept = try await fixture.createVehicle("kept")
            try await fixture.createVehicle("old")
            fixture.advance(by: Self.week)
            interrupted.interruption.withLock {
                $0 = { try await fixture.updateVehicle("kept", ["vehicle_state"]) { $0.vehicleState = .online } }
            }
            #expect(try await fixture.engine.sweep(RetentionPolicy()) == 1)
            #expect(try await fixture.vehicle("kept") == kept)
            #expect(await code { try await fixture.vehicle("old") } == .notFound)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a trip that goes does not keep its neighbours for longer`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let fixture = EngineFixture(store: StatedStore(store: store))
            try await fixture.createVehicle("veh-1")
            try await fixture.createTrip("first", .with(.sample) { $0.vehicleID = "veh-1" })
            fixture.advance(by: 3600)
            try await fixture.createTrip("second", .with(.sample) { $0.vehicleID = "veh-1" })
            fixture.advance(by: Self.week - 3600)
            #expect(try await fixture.engine.sweep(RetentionPolicy()) == 1)
            #expect(try await fixture.vehicle("veh-1").currentTrips == ["second"])
            #expect(try await fixture.trip("second").remainingWaypoints.count == 2)
            fixture.advance(by: 3599)
            #expect(try await fixture.engine.sweep(RetentionPolicy()) == 0)
            fixture.advance(by: 1)
            #expect(try await fixture.engine.sweep(RetentionPolicy()) == 2)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `old trips of one vehicle go in one sweep, and the vehicle with them`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let fixture = EngineFixture(store: StatedStore(store: store))
            try await fixture.createVehicle("veh-1")
            for id in ["first", "second", "third"] {
                try await fixture.createTrip(id, .with(.sample) { $0.vehicleID = "veh-1" })
            }
            fixture.advance(by: Self.week)
            #expect(try await fixture.engine.sweep(RetentionPolicy()) == 4)
            #expect(await code { try await fixture.trip("second") } == .notFound)
            #expect(await code { try await fixture.vehicle("veh-1") } == .notFound)
        }
    }

    @Test func `delivery vehicles with stops stay, and tasks as long as the policy says`() async throws {
        let world = DeliveryWorld()
        for id in ["idle", "busy"] { try await world.createVehicle(id) }
        for id in ["free", "taken"] { try await world.createTask(id) }
        try await world.plan("busy", [["taken"]])
        world.clock.advance(by: Self.week)
        #expect(try await world.engine.sweep(RetentionPolicy()) == 1)
        #expect(await code { try await world.vehicle("idle") } == .notFound)
        #expect(try await world.engine.sweep(RetentionPolicy(tasks: .seconds(Self.week))) == 1)
        #expect(await code { try await world.task("free") } == .notFound)
        #expect(await code { try await world.task("taken") } == nil)
        #expect(await code { try await world.vehicle("busy") } == nil)
    }

    @Test func `more than a portion is swept, of every provider`() async throws {
        let store = MemoryStore()
        try await store.write { transaction in
            for number in 0..<450 {
                try transaction.put(Vehicle.sample, TestID.id("v\(number)"), of: TestID.acme)
                try transaction.put(Vehicle.sample, TestID.id("v\(number)"), of: TestID.other)
            }
        }
        let fixture = EngineFixture(store: store)
        #expect(try await fixture.engine.sweep(RetentionPolicy(vehicles: nil)) == 0)
        #expect(try await fixture.engine.sweep(RetentionPolicy()) == 900)
    }

    @Test(.timeLimit(.minutes(1)))
    func `the longest interval there is means one sweep, and waits as any other`() async throws {
        let (fixture, clock) = (EngineFixture(), ManualClock())
        try await fixture.createVehicle("old")
        fixture.advance(by: Self.week)
        let sweep = Self.sweep(fixture, every: .seconds(Int64.max), by: clock)
        let running = Task { try await sweep.run() }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(600))
        await clock.waitForSleepers(1)
        #expect(await code { try await fixture.vehicle("old") } == .notFound)
        running.cancel()
        try await running.value
    }

    /// A sweep by a clock, and by a date that goes with it unless it is set.
    private static func sweep(
        _ fixture: EngineFixture, every interval: Duration, by clock: ManualClock,
        setBy step: @escaping @Sendable () -> TimeInterval = { 0 }
    ) -> RetentionSweep {
        RetentionSweep(
            engine: fixture.engine, policy: RetentionPolicy(), interval: interval, logger: Logger(label: "test"),
            time: TimeSource(clock: clock, now: { TestClock.start + clock.now.sinceStart / .seconds(1) + step() }))
    }

    @Test(.timeLimit(.minutes(1)), arguments: [-61, 61, 2_592_000] as [TimeInterval])
    func `nothing is deleted before a clock that was set has been left alone for ten minutes`(
        seconds: TimeInterval
    ) async throws {
        let (fixture, clock, step) = (EngineFixture(), ManualClock(), Locked<TimeInterval>(0))
        try await fixture.createVehicle("old")
        fixture.advance(by: Self.week)
        let sweep = Self.sweep(fixture, every: .seconds(3600), by: clock, setBy: { step.withLock { $0 } })
        let running = Task { try await sweep.run() }
        func isThere(after wait: Duration) async -> Bool {
            clock.advance(by: wait)
            await clock.waitForSleepers(1)
            return await code { try await fixture.vehicle("old") } == nil
        }
        await clock.waitForSleepers(1)
        #expect(await isThere(after: .seconds(599)))
        step.withLock { $0 = seconds }
        #expect(await isThere(after: .seconds(1)))
        #expect(await isThere(after: .seconds(599)))
        // What a clock is corrected by now and then keeps nothing.
        step.withLock { $0 += 59 }
        #expect(await !isThere(after: .seconds(1)))
        // The next look is an hour later, and sees that the clock was set since.
        try await fixture.createVehicle("old")
        fixture.advance(by: Self.week)
        step.withLock { $0 += 61 }
        #expect(await isThere(after: .seconds(3600)))
        #expect(await !isThere(after: .seconds(600)))
        running.cancel()
        try await running.value
    }

    @Test func `a collection that cannot be looked through keeps no other from being swept`() async throws {
        let store = MemoryStore()
        let fixture = EngineFixture(store: StoreWithoutTripLists(store: store))
        try await fixture.createVehicle("old")
        try await fixture.createTrip("old")
        try await store.write { try $0.put(Vehicle.sample, TestID.id("old"), of: TestID.other) }
        fixture.advance(by: Self.week)
        await #expect(throws: StoreWithoutTripLists.Broken.self) {
            try await fixture.engine.sweep(RetentionPolicy())
        }
        let left = try await store.read { reader in
            try [TestID.acme, TestID.other].map { try reader.count(.vehicles, of: $0) }
        }
        #expect(left == [0, 0])
        #expect(await code { try await fixture.trip("old") } == nil)
    }

    @Test func `where machines share a database, its clock says what is old`() async throws {
        let database = TestClock(TestClock.start)
        let fixture = EngineFixture(
            store: StatedStore(store: MemoryStore()) { StoreStatus(time: database.now, takesChanges: true) })
        try await fixture.createVehicle("old")
        fixture.advance(by: Self.week)
        database.advance(by: Self.week - 3)
        #expect(try await fixture.engine.sweep(RetentionPolicy()) == 0)
        database.advance(by: 3)
        #expect(try await fixture.engine.sweep(RetentionPolicy()) == 1)
    }

    @Test(arguments: [-8 * 86_400, -6, 6, 8 * 86_400] as [TimeInterval])
    func `a machine whose clock is not the database's deletes nothing`(ahead: TimeInterval) async throws {
        let time = TestClock.start + Self.week
        let fixture = EngineFixture(
            store: StatedStore(store: MemoryStore()) { StoreStatus(time: time, takesChanges: true) })
        try await fixture.createVehicle("old")
        fixture.advance(by: Self.week + ahead)
        let error = await #expect(throws: EngineError.self) {
            try await fixture.engine.sweep(RetentionPolicy())
        }
        #expect(error?.reason == "STORE_CLOCK")
        #expect(await code { try await fixture.vehicle("old") } == nil)
    }
}

/// A store whose trips cannot be looked through.
private struct StoreWithoutTripLists: StoreAround {
    struct Broken: Error {}

    let store: any EngineStore

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineReader) throws -> Result
    ) async throws -> Result {
        try await self.store.read { try body(Reader(reader: $0)) }
    }

    private struct Reader: EngineReader {
        let reader: any EngineReader

        func find<Resource: StoredResource>(
            _ id: FleetID<Resource.Kind>, of provider: ProviderID, as type: Resource.Type
        ) throws -> Resource? {
            try self.reader.find(id, of: provider, as: type)
        }

        func scan<Resource: StoredResource>(
            _ scan: StoreScan, of provider: ProviderID, _ body: (_ id: String, Resource) throws -> Bool
        ) throws {
            if Resource.collection == .trips { throw Broken() }
            try self.reader.scan(scan, of: provider, body)
        }

        func count(_ collection: StoreCollection, of provider: ProviderID) throws -> Int {
            try self.reader.count(collection, of: provider)
        }

        func providers() throws -> [ProviderID] { try self.reader.providers() }
    }
}

/// Lets something happen before the next write.
private struct InterruptedStore: StoreAround {
    let store: any EngineStore
    let interruption = Locked<(@Sendable () async throws -> Void)?>(nil)

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineTransaction) throws -> Result
    ) async throws -> Result {
        let interruption = self.interruption.withLock { interruption in
            defer { interruption = nil }
            return interruption
        }
        try await interruption?()
        return try await self.store.write(body)
    }

    func status() async throws -> StoreStatus? { nil }
}
