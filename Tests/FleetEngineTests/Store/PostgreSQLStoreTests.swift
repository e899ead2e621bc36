// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FleetEngineAPI
import FleetPostgreSQL
import FleetTokens
import Foundation
import PostgreSQLTestSupport
import SwiftProtobuf
import Testing

@testable import FleetEngine

/// What holds between nodes; what holds on each is in ``EngineStoreTests``.
@Suite(
    .enabled(if: PostgreSQLServer.isInstalled, Comment(rawValue: PostgreSQLServer.absence)), .timeLimit(.minutes(10)))
struct PostgreSQLStoreTests {
    private struct Taken: Error {}

    /// Hands over the stores of three nodes over one database.
    private func withNodes(_ body: ([PostgreSQLStore]) async throws -> Void) async throws {
        let address = try await PostgreSQLServer.shared().makeDatabase()
        let nodes = try (0..<3).map { _ in try PostgreSQLStore(address: address) }
        try await body(nodes)
        for node in nodes { await node.close() }
    }

    private func add(_ number: Int32, to id: VehicleID) -> @Sendable (any EngineTransaction) throws -> Void {
        { transaction in
            var vehicle = try transaction.vehicle(id, of: TestID.acme) ?? .at(1, 2)
            vehicle.maximumCapacity += number
            try transaction.put(vehicle, id, of: TestID.acme)
        }
    }

    private func total(_ store: PostgreSQLStore) async throws -> Int {
        try await store.read { reader in
            try reader.onlineVehicles(of: TestID.acme, in: .world).reduce(0) { $0 + Int($1.maximumCapacity) }
        }
    }

    @Test func `many nodes that change one resource lose nothing`() async throws {
        try await self.withNodes { nodes in
            try await withThrowingDiscardingTaskGroup { group in
                for number in 0..<48 {
                    group.addTask {
                        for _ in 0..<10 { try await nodes[number % 3].write(self.add(1, to: TestID.vehicle)) }
                    }
                }
            }
            #expect(try await self.total(nodes[0]) == 480)
        }
    }

    @Test func `of many nodes that make the same resource, one does`() async throws {
        try await self.withNodes { nodes in
            let made = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<90 {
                    group.addTask {
                        let id = TestID.id("trip-\(number / 3)", TripID.self)
                        do {
                            try await nodes[number % 3].write { transaction in
                                guard try transaction.trip(id, of: TestID.acme) == nil else { throw Taken() }
                                try transaction.put(Trip.with { $0.name = "\(number)" }, id, of: TestID.acme)
                            }
                            return 1
                        } catch is Taken {
                            return 0
                        }
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(made == 30)
        }
    }

    @Test func `what another node makes outlives a group that made and removed the same`() async throws {
        let address = try await PostgreSQLServer.shared().makeDatabase()
        let node = try PostgreSQLStore(address: address)
        let id = TestID.id("trip-1", TripID.self)
        func name() async throws -> String? { try await node.read { try $0.trip(id, of: TestID.acme)?.name } }
        #expect(try await name() == nil)
        let pool = PostgreSQLPool(
            try PostgreSQLAddress(address), connections: 1,
            tables: PostgreSQLTables(PostgreSQLEngineSchema.schema), logger: .silent)
        let began = AsyncStream.makeStream(of: Void.self)
        let isMade = DispatchSemaphore(value: 0)
        @Sendable func write(_ body: @escaping @Sendable (any EngineTransaction) throws -> Void) -> QueuedWrite {
            QueuedWrite(
                ticket: 0,
                run: { transaction in
                    let failure: (any Error)?
                    do {
                        try body(transaction)
                        failure = nil
                    } catch {
                        failure = error
                    }
                    return .init(failure: failure, reply: {})
                }, reject: { _ in })
        }
        let other = Task {
            try await pool.run { session in
                let key = ResourceKey(collection: .trips, provider: TestID.acme.value, id: id.value)
                let group = try PostgreSQLGroup(session, isAlone: false, locking: [key], leavesHeld: false)
                var creation = write { transaction in
                    guard try transaction.trip(id, of: TestID.acme) == nil else { throw Taken() }
                    try transaction.put(Trip.with { $0.name = "first" }, id, of: TestID.acme)
                }
                var removal = write { transaction in
                    guard try transaction.trip(id, of: TestID.acme) != nil else { throw Taken() }
                    try transaction.remove(id, of: TestID.acme, as: Trip.self)
                }
                #expect(try group.run(&creation)?.isKept == true)
                #expect(try group.run(&removal)?.isKept == true)
                began.continuation.yield()
                isMade.wait()
                try group.commit()
            }
        }
        for await _ in began.stream { break }
        try await node.write { try $0.put(Trip.with { $0.name = "second" }, id, of: TestID.acme) }
        isMade.signal()
        try await other.value
        #expect(try await name() == "second")
        await pool.close()
        await node.close()
    }

    @Test func `nodes that take the same rows in opposite orders get through`() async throws {
        try await self.withNodes { nodes in
            let ids = (0..<6).map { TestID.id("veh-\($0)", VehicleID.self) }
            for id in ids { try await nodes[0].write(self.add(100, to: id)) }
            try await withThrowingDiscardingTaskGroup { group in
                for number in 0..<180 {
                    group.addTask {
                        let (from, to) = (ids[number % 6], ids[(number * 5 + 1) % 6])
                        try await nodes[number % 3].write { transaction in
                            for (id, change) in [(from, Int32(-1)), (to, 1)] {
                                var vehicle = try #require(try transaction.vehicle(id, of: TestID.acme))
                                vehicle.maximumCapacity += change
                                try transaction.put(vehicle, id, of: TestID.acme)
                            }
                        }
                    }
                }
            }
            #expect(try await self.total(nodes[1]) == 600)
        }
    }

    @Test func `what rests on a count holds across nodes`() async throws {
        try await self.withNodes { nodes in
            try await withThrowingDiscardingTaskGroup { group in
                for number in 0..<60 {
                    group.addTask {
                        try await nodes[number % 3].write { transaction in
                            guard try transaction.count(.trips, of: TestID.acme) < 10 else { return }
                            try transaction.put(Trip(), TestID.id("trip-\(number)"), of: TestID.acme)
                        }
                    }
                }
            }
            #expect(try await nodes[0].read { try $0.count(.trips, of: TestID.acme) } == 10)
        }
    }

    @Test func `what rests on another resource's absence holds across nodes`() async throws {
        try await self.withNodes { nodes in
            for round in 0..<20 {
                let sides = ["a", "b"].map { TestID.id("\($0)-\(round)", TripID.self) }
                try await withThrowingDiscardingTaskGroup { group in
                    for side in 0..<2 {
                        group.addTask {
                            try await nodes[side].write { transaction in
                                guard try transaction.trip(sides[1 - side], of: TestID.acme) == nil else { return }
                                try transaction.put(Trip(), sides[side], of: TestID.acme)
                            }
                        }
                    }
                }
                let found = try await nodes[2].read { reader in
                    try sides.count { try reader.trip($0, of: TestID.acme) != nil }
                }
                #expect(found == 1)
            }
        }
    }

    @Test func `a body that looks through what it put finds it`() async throws {
        try await self.withNodes { nodes in
            let found = try await nodes[0].write { transaction in
                try transaction.put(Trip.with { $0.vehicleID = "veh-1" }, TestID.id("a"), of: TestID.acme)
                try transaction.put(Trip.with { $0.vehicleID = "veh-1" }, TestID.id("b"), of: TestID.acme)
                try transaction.remove(TestID.id("a"), of: TestID.acme, as: Trip.self)
                var ids: [String] = []
                try transaction.scan(StoreScan(holder: "veh-1"), of: TestID.acme) { (id, _: Trip) in
                    ids.append(id)
                    return true
                }
                try transaction.put(Trip(), TestID.id("c"), of: TestID.acme)
                return ids
            }
            #expect(found == ["b"])
            #expect(try await nodes[1].read { try $0.count(.trips, of: TestID.acme) } == 2)
        }
    }

    @Test func `a list longer than one portion comes whole and in order`() async throws {
        try await self.withNodes { nodes in
            try await nodes[0].write { transaction in
                for number in 0..<1500 { try transaction.put(Trip(), TestID.id("t\(number)"), of: TestID.acme) }
            }
            let ids = try await nodes[1].read { reader in
                var ids: [String] = []
                try reader.scan(StoreScan(), of: TestID.acme) { (id, _: Trip) in
                    ids.append(id)
                    return true
                }
                return ids
            }
            #expect(ids == (0..<1500).map { "t\($0)" }.sorted())
        }
    }

    @Test(arguments: [7, 1000])
    func `what is old is found among much that is not, some rows at a time`(rowLimit: Int) async throws {
        let address = try await PostgreSQLServer.shared().makeDatabase()
        let store = try PostgreSQLStore(address: address)
        let (old, fresh) = (Google_Protobuf_Timestamp(seconds: 1), Google_Protobuf_Timestamp(seconds: 2))
        // More of one age after each other than a statement finds, and few between many.
        let isOld: @Sendable (Int) -> Bool = { $0 < 600 || $0 % 90 == 0 }
        try await store.write { transaction in
            for number in 0..<1500 {
                try transaction.put(
                    Vehicle(), TestID.id("v\(number)"), of: TestID.acme, at: isOld(number) ? old : fresh)
            }
            try transaction.put(Trip(), TestID.trip, of: TestID.other)
        }
        let pool = PostgreSQLPool(
            try PostgreSQLAddress(address), connections: 1,
            tables: PostgreSQLTables(PostgreSQLEngineSchema.schema), logger: .silent)
        let found = try await pool.run { session in
            let reader = PostgreSQLReader(session, begin: "BEGIN", rowLimit: rowLimit)
            var ids: [String] = []
            try reader.scan(StoreScan(unchangedSince: old), of: TestID.acme) { (id, _: Vehicle) in
                ids.append(id)
                return true
            }
            try reader.end()
            return ids
        }
        #expect(found == (0..<1500).filter(isOld).map { "v\($0)" }.sorted())
        #expect(Set(try await store.read { try $0.providers() }) == [TestID.acme, TestID.other])
        await pool.close()
        await store.close()
    }

    @Test func `a look that took too long is not told as a database that is away`() {
        let error = EngineError(PostgreSQLError(code: .timedOut, message: "canceled", sqlState: "57014"))
        #expect(error.code == .unavailable && error.reason == "STORE_UNAVAILABLE")
        #expect(error.message == "The store took too long over this; retry in a while.")
    }

    @Test func `sweeps of several nodes at once delete each thing once`() async throws {
        try await self.withNodes { nodes in
            let fixtures = nodes.map { EngineFixture(store: StatedStore(store: $0)) }
            for number in 0..<300 { try await fixtures[0].createVehicle("old-\(number)") }
            for fixture in fixtures { fixture.advance(by: 8 * 86_400) }
            try await fixtures[1].createVehicle("fresh")
            let count = try await withThrowingTaskGroup(of: Int.self) { group in
                for fixture in fixtures { group.addTask { try await fixture.engine.sweep(RetentionPolicy()) } }
                return try await group.reduce(0, +)
            }
            #expect(count == 300)
            #expect(try await nodes[2].read { try $0.count(.vehicles, of: TestID.acme) } == 1)
        }
    }

    @Test func `a node that is days ahead is not ready, and deletes nothing of the others'`() async throws {
        try await self.withNodes { nodes in
            let right = Engine(store: nodes[0] as any EngineStore, verifier: TextVerifier())
            let ahead = Engine(
                store: nodes[1] as any EngineStore, verifier: TextVerifier(), now: { Date() + 8 * 86_400 })
            try await nodes[2].write { transaction in
                let now = Google_Protobuf_Timestamp(date: Date())
                try transaction.put(Vehicle.at(1, 2), TestID.vehicle, of: TestID.acme, at: now)
            }
            #expect(await ahead.storeProblems().keys.sorted() == ["clock"])
            let error = await #expect(throws: EngineError.self) { try await ahead.sweep(RetentionPolicy()) }
            #expect(error?.reason == "STORE_CLOCK")
            #expect(await right.storeProblems() == [:])
            #expect(try await right.sweep(RetentionPolicy()) == 0)
            #expect(try await nodes[2].read { try $0.count(.vehicles, of: TestID.acme) } == 1)
        }
    }

    @Test func `a database that can only be read makes a node one that does not serve`() async throws {
        let address = try await PostgreSQLServer.shared().makeDatabase()
        let first = try PostgreSQLStore(address: address)
        #expect(try await first.status()?.takesChanges == true)
        await first.close()
        let pool = PostgreSQLPool(try PostgreSQLAddress(address), connections: 1, logger: .silent)
        try await Self.setReadOnly("on", over: pool)
        await pool.close()
        let second = try PostgreSQLStore(address: address)
        let engine = Engine(store: second as any EngineStore, verifier: TextVerifier())
        #expect(await engine.storeProblems() == ["store": "the store takes no changes"])
        #expect(await !engine.isServing())
        let error = await #expect(throws: EngineError.self) {
            try await second.write { try $0.put(Trip(), TestID.trip, of: TestID.acme) }
        }
        #expect(error?.code == .unavailable)
        await second.close()
    }

    @Test(.timeLimit(.minutes(1)))
    func `a read whose task is cancelled before its turn waits for nothing and is not run`() async throws {
        let address = try await PostgreSQLServer.shared().makeDatabase()
        let store = try PostgreSQLStore(address, logger: .silent, readers: 1, groupLimit: 512, waitingLimit: 10_000)
        let began = AsyncStream.makeStream(of: Void.self)
        let gate = DispatchSemaphore(value: 0)
        let first = Task {
            try await store.read { _ in
                began.continuation.yield()
                gate.wait()
            }
        }
        for await _ in began.stream { break }
        let ran = Locked(false)
        let second = Task { try await store.read { _ in ran.withLock { $0 = true } } }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        gate.signal()
        try await first.value
        // What comes after it on the only connection shows that its turn is over.
        try await store.read { _ in }
        #expect(!ran.withLock { $0 })
        await store.close()
    }

    @Test func `a node whose database takes changes again serves again without a restart`() async throws {
        let address = try await PostgreSQLServer.shared().makeDatabase()
        // Its own session keeps taking changes.
        let pool = PostgreSQLPool(
            try PostgreSQLAddress(address), connections: 1,
            tables: PostgreSQLTables(PostgreSQLEngineSchema.schema), logger: .silent)
        try await Self.setReadOnly("on", over: pool)
        let store = try PostgreSQLStore(address, logger: .silent, readers: 1, groupLimit: 512, waitingLimit: 10_000)
        let engine = Engine(store: store as any EngineStore, verifier: TextVerifier())
        #expect(try await store.read { try $0.count(.trips, of: TestID.acme) } == 0)
        try await Self.setReadOnly("off", over: pool)
        // The reader that began before cannot know better; the next one does.
        #expect(await engine.storeProblems() == ["store": "the store takes no changes"])
        #expect(await engine.storeProblems() == [:])
        try await store.write { try $0.put(Trip(), TestID.trip, of: TestID.acme) }
        await store.close()
        await pool.close()
    }

    @Test func `a node whose user may only read does not serve, until the user may write`() async throws {
        let address = try await PostgreSQLServer.shared().makeDatabase()
        let pool = PostgreSQLPool(
            try PostgreSQLAddress(address), connections: 1,
            tables: PostgreSQLTables(PostgreSQLEngineSchema.schema), logger: .silent)
        let user = "u_\(UUID().uuidString.lowercased().replacing("-", with: ""))"
        for statement in [
            "CREATE ROLE \(user) LOGIN", "GRANT USAGE ON SCHEMA fleetpass TO \(user)",
            "GRANT SELECT ON ALL TABLES IN SCHEMA fleetpass TO \(user)",
        ] {
            try await pool.run { _ = try $0.query(.once(statement)) }
        }
        let store = try PostgreSQLStore(address: address.replacing("//fleetpass@", with: "//\(user)@"))
        try await store.check()
        let engine = Engine(store: store as any EngineStore, verifier: TextVerifier())
        #expect(await engine.storeProblems() == ["store": "the store takes no changes"])
        let error = await #expect(throws: EngineError.self) {
            try await store.write { try $0.put(Trip(), TestID.trip, of: TestID.acme) }
        }
        #expect(error?.reason == "STORE_UNAVAILABLE")
        for _ in 0..<2 { #expect(await engine.storeProblems() == ["store": "the store takes no changes"]) }
        try await pool.run { _ = try $0.query(.once("GRANT ALL ON ALL TABLES IN SCHEMA fleetpass TO \(user)")) }
        #expect(await engine.storeProblems() == [:])
        let left = try await store.read { try $0.providers() }
        #expect(left.isEmpty)
        // That another table takes changes says nothing of this one.
        try await pool.run { _ = try $0.query(.once("REVOKE INSERT ON fleetpass.vehicle FROM \(user)")) }
        await #expect(throws: EngineError.self) {
            try await store.write { try $0.put(Vehicle(), TestID.vehicle, of: TestID.acme) }
        }
        #expect(await engine.storeProblems() == ["store": "the store takes no changes"])
        try await store.write { try $0.put(Trip(), TestID.trip, of: TestID.acme) }
        #expect(await engine.storeProblems() == ["store": "the store takes no changes"])
        try await pool.run { _ = try $0.query(.once("GRANT INSERT ON fleetpass.vehicle TO \(user)")) }
        #expect(await engine.storeProblems() == [:])
        await store.close()
        await pool.close()
    }

    @Test func `a database without its tables makes a node one that does not serve`() async throws {
        let address = try await PostgreSQLServer.shared().makeDatabase()
        let store = try PostgreSQLStore(address: address)
        let engine = Engine(store: store as any EngineStore, verifier: TextVerifier())
        #expect(await engine.storeProblems() == [:])
        let pool = PostgreSQLPool(try PostgreSQLAddress(address), connections: 1, logger: .silent)
        try await pool.run { _ = try $0.query(.once("ALTER TABLE fleetpass.task RENAME TO away")) }
        #expect(await engine.storeProblems() == ["store": "the store cannot be read"])
        let error = await #expect(throws: EngineError.self) { try await store.check() }
        #expect(error?.reason == "STORE_SCHEMA")
        let refusal = await #expect(throws: EngineError.self) {
            _ = try await store.read { try $0.task(TestID.task, of: TestID.acme) }
        }
        #expect(refusal?.reason == "STORE_UNAVAILABLE")
        try await pool.run { _ = try $0.query(.once("ALTER TABLE fleetpass.away RENAME TO task")) }
        #expect(await engine.storeProblems() == [:])
        await store.close()
        await pool.close()
    }

    /// Has the database's new sessions take no changes, or take them again.
    private static func setReadOnly(_ value: String, over pool: PostgreSQLPool) async throws {
        try await pool.run { session in
            _ = try session.query(
                .once(
                    """
                    DO $$ BEGIN
                    EXECUTE format(
                        'ALTER DATABASE %I SET default_transaction_read_only = \(value)', current_database());
                    END $$
                    """))
        }
    }

    @Test func `what was read ahead is not asked for again`() async throws {
        let address = try await PostgreSQLServer.shared().makeDatabase()
        let store = try PostgreSQLStore(address: address)
        let ids = ["a", "b", "none"].map { TestID.id($0, TripID.self) }
        try await store.write { transaction in
            for id in ids.prefix(2) { try transaction.put(Trip(), id, of: TestID.acme) }
        }
        let pool = PostgreSQLPool(
            try PostgreSQLAddress(address), connections: 1,
            tables: PostgreSQLTables(PostgreSQLEngineSchema.schema), logger: .silent)
        let found = try await pool.run { session in
            let reader = PostgreSQLReader(session)
            try reader.prefetch(ids, of: TestID.acme, as: Trip.self)
            // Who asked now would find nothing.
            try session.query(.once("DELETE FROM trip"))
            return try ids.map { try reader.trip($0, of: TestID.acme) != nil }
        }
        #expect(found == [true, true, false])
        await pool.close()
        await store.close()
    }

    @Test func `when resources were changed is asked for once for all that were read`() async throws {
        let address = try await PostgreSQLServer.shared().makeDatabase()
        let store = try PostgreSQLStore(address: address)
        let ids = ["a", "b", "none"].map { TestID.id($0, TripID.self) }
        try await store.write { transaction in
            for (second, id) in zip(Int64(1)..., ids.prefix(2)) {
                try transaction.put(Trip(), id, of: TestID.acme, at: .with { $0.seconds = second })
            }
        }
        let pool = PostgreSQLPool(
            try PostgreSQLAddress(address), connections: 1,
            tables: PostgreSQLTables(PostgreSQLEngineSchema.schema), logger: .silent)
        let times = try await pool.run { session in
            let group = try PostgreSQLGroup(session, isAlone: true, locking: [], leavesHeld: false)
            let keys = ids.map { ResourceKey($0, TestID.acme, Trip.self) }
            try group.prefetch(Set(keys))
            let first = try group.timeOfChange(of: keys[0])
            // Who asked now would find nothing.
            try session.query(.once("DELETE FROM trip"))
            let rest = try keys.dropFirst().map { try group.timeOfChange(of: $0) }
            session.rollBack()
            return [first] + rest
        }
        #expect(times == [1_000_000, 2_000_000, nil])
        await pool.close()
        await store.close()
    }

    @Test func `a server that restarts loses nothing that was acknowledged, and is found again`() async throws {
        let server = try PostgreSQLServer()
        defer { try? server.stop() }
        let store = try PostgreSQLStore(address: try await server.makeDatabase())
        let acknowledged = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var count = 0
                    for _ in 0..<150 {
                        do {
                            try await store.write(self.add(1, to: TestID.vehicle))
                            count += 1
                        } catch {
                            let error = try #require(error as? EngineError)
                            #expect(error.code == .unavailable)
                            #expect(error.reason == "STORE_UNAVAILABLE")
                        }
                    }
                    return count
                }
            }
            try server.restart()
            return try await group.reduce(0, +)
        }
        // Readers and writer each find the server again in their own time.
        func retrying<Result>(_ body: () async throws -> Result) async throws -> Result {
            for _ in 0..<1000 {
                do { return try await body() } catch let error as EngineError where error.code == .unavailable {}
                try await Task.sleep(for: .milliseconds(10))
            }
            return try await body()
        }
        // A commit whose answer was lost may have taken place.
        #expect(try await retrying { try await self.total(store) } >= acknowledged)
        try await retrying { try await store.write(self.add(1, to: TestID.vehicle)) }
        await store.close()
        let refusal = await #expect(throws: EngineError.self) { try await store.write { _ in } }
        #expect(refusal?.reason == "STORE_CLOSED")
    }

    @Test func `a place near the former one leaves the spatial index alone`() async throws {
        let address = try await PostgreSQLServer.shared().makeDatabase()
        let store = try PostgreSQLStore(address: address)
        let pool = PostgreSQLPool(try PostgreSQLAddress(address), connections: 1, logger: .silent)
        let steps: [(place: LatLng?, indexed: String?)] = [
            (.at(1, 2), "(2,1)"), (.at(1.001, 1.999), "(2,1)"), (.at(0.9985, 2.0015), "(2,1)"),
            (.at(1.003, 2), "(2,1.003)"), (.at(1.003, -2), "(-2,1.003)"), (nil, nil), (.at(1.003, -2), "(-2,1.003)"),
        ]
        for (place, indexed) in steps {
            try await store.write { transaction in
                let vehicle = Vehicle.with { if let place { $0.lastLocation.location = place } }
                try transaction.put(vehicle, TestID.vehicle, of: TestID.acme)
            }
            let found = try await pool.run { session in
                try session.query(.once("SELECT place::text FROM fleetpass.vehicle")).first?.optionalText(0)
            }
            #expect(found == indexed)
        }
        await pool.close()
        await store.close()
    }

    @Test func `tables of a newer version are refused with what to do`() async throws {
        let address = try await PostgreSQLServer.shared().makeDatabase()
        let first = try PostgreSQLStore(address: address)
        try await first.check()
        await first.close()
        let pool = PostgreSQLPool(try PostgreSQLAddress(address), connections: 1, logger: .silent)
        try await pool.run { _ = try $0.query(.once("UPDATE fleetpass.version SET version = 99")) }
        await pool.close()
        let second = try PostgreSQLStore(address: address)
        let error = await #expect(throws: EngineError.self) { try await second.check() }
        #expect(error?.reason == "STORE_SCHEMA")
        await second.close()
    }

    @Test(arguments: [
        (StoreScan(after: "a"), StoreCollection.vehicles, "vehicle_pkey"),
        (
            StoreScan(isActiveOnly: true, box: GeoBox(south: 1, west: 1, north: 2, east: 2), isOrdered: false),
            .vehicles, "vehicle_place"
        ),
        (StoreScan(holder: "veh-1"), .trips, "trip_holder"), (StoreScan(isActiveOnly: true), .trips, "trip_active"),
        (StoreScan(holder: "dv-1"), .tasks, "task_holder"), (StoreScan(tracking: "shp-1"), .tasks, "task_tracking"),
        (StoreScan(isActiveOnly: true), .tasks, "task_active"),
        (
            StoreScan(box: GeoBox(south: 1, west: 1, north: 2, east: 2), isOrdered: false), .deliveryVehicles,
            "delivery_vehicle_place"
        ),
    ])
    func `an index serves each way of looking`(
        scan: StoreScan, collection: StoreCollection, index: String
    ) async throws {
        let address = try await PostgreSQLServer.shared().makeDatabase()
        let pool = PostgreSQLPool(
            try PostgreSQLAddress(address), connections: 1,
            tables: PostgreSQLTables(PostgreSQLEngineSchema.schema), logger: .silent)
        let plan = try await pool.run { session in
            let statement = PostgreSQLQuery.scan(scan, collection, TestID.acme)
            // Tables are empty, and reading all of nothing would be cheapest.
            try session.query(.once("SET enable_seqscan = off"))
            try session.query(.once("SET enable_bitmapscan = off"))
            // Several providers with few of the wanted, so that statistics do not decide.
            try session.query(
                .once(
                    """
                    INSERT INTO \(collection.rawValue) SELECT 'acme', n::text, n % 100 = 0, 'h' || n, 't' || n,
                    point(n % 90, n % 80), n, '' FROM generate_series(1, 5000) AS n
                    """))
            try session.query(.once("ANALYZE \(collection.rawValue)"))
            let rows = try session.query(.once("EXPLAIN " + statement.sql, statement.values))
            return try (0..<rows.count).map { try rows[$0].text(0) }.joined(separator: "\n")
        }
        #expect(plan.contains(" using \(index) "), "\(plan)")
        await pool.close()
    }
}
