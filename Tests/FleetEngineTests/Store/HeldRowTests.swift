// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FleetEngineAPI
import FleetPostgreSQL
import FleetTokens
import PostgreSQLTestSupport
import Testing

@testable import FleetEngine

/// What becomes of a group of writes where others hold rows, or the database refuses a statement.
@Suite(
    .enabled(if: PostgreSQLServer.isInstalled, Comment(rawValue: PostgreSQLServer.absence)), .timeLimit(.minutes(5)))
struct HeldRowTests {
    private static let vehicles = (0..<4).map { TestID.id("veh-\($0)", VehicleID.self) }

    /// Hands over a store with four vehicles, and a pool of connections to its database.
    private func withStore(
        patience: Duration, _ body: (PostgreSQLStore, PostgreSQLPool) async throws -> Void
    ) async throws {
        let address = try await PostgreSQLServer.shared().makeDatabase()
        let store = try PostgreSQLStore(
            address, logger: .silent, readers: 2, groupLimit: 512, waitingLimit: 1000, patience: patience)
        try await store.write { transaction in
            for id in Self.vehicles { try transaction.put(Vehicle.at(1, 2), id, of: TestID.acme) }
        }
        let pool = PostgreSQLPool(try PostgreSQLAddress(address), connections: 2, logger: .silent)
        try await body(store, pool)
        await pool.close()
        await store.close()
    }

    private static let firstRow = "SELECT 1 FROM fleetpass.vehicle WHERE id = 'veh-0' FOR UPDATE"

    /// Has another session hold what a statement locks, such as the first vehicle's row, until it is released, or the body
    /// ends.
    private func holding(
        _ pool: PostgreSQLPool, lock: String = firstRow,
        _ body: (_ release: @escaping @Sendable () -> Void) async throws -> Void
    ) async throws {
        let (holding, held) = AsyncStream.makeStream(of: Void.self)
        let release = DispatchSemaphore(value: 0)
        let holder = Task {
            defer { held.finish() }
            try await pool.run { session in
                try session.transaction {
                    try session.query(.once("SET LOCAL idle_in_transaction_session_timeout = 0"))
                    try session.query(.once(lock))
                    held.finish()
                    release.wait()
                }
            }
        }
        for await _ in holding {}
        do {
            try await body { release.signal() }
        } catch {
            release.signal()
            throw error
        }
        release.signal()
        try await holder.value
    }

    /// Waits until a session waits for what another holds.
    private func untilOneWaits(_ pool: PostgreSQLPool) async throws {
        var isWaiting = false
        while !isWaiting {
            isWaiting = try await pool.run { session in
                let rows = try session.query(
                    .once(
                        """
                        SELECT EXISTS (
                            SELECT FROM pg_stat_activity
                            WHERE datname = current_database() AND wait_event_type = 'Lock'
                        )
                        """))
                return try rows.first?.bool(0) ?? false
            }
        }
    }

    private func add(to ids: [VehicleID]) -> @Sendable (any EngineTransaction) throws -> Void {
        { transaction in
            for id in ids {
                var vehicle = try #require(try transaction.vehicle(id, of: TestID.acme))
                vehicle.maximumCapacity += 1
                try transaction.put(vehicle, id, of: TestID.acme)
            }
        }
    }

    private func capacities(_ store: PostgreSQLStore) async throws -> [Int32?] {
        try await store.read { reader in
            try Self.vehicles.map { try reader.vehicle($0, of: TestID.acme)?.maximumCapacity }
        }
    }

    /// Writes to each vehicle at once, and tells how each write failed, if it did.
    private func writeToEach(
        _ store: PostgreSQLStore, afterwards body: () async throws -> Void = {}
    ) async throws -> [EngineError?] {
        try await withThrowingTaskGroup(of: (Int, EngineError?).self) { group in
            for (number, id) in Self.vehicles.enumerated() {
                group.addTask {
                    do {
                        try await store.write(self.add(to: [id]))
                        return (number, nil)
                    } catch let error as EngineError {
                        return (number, error)
                    }
                }
            }
            try await body()
            return try await group.reduce(into: [EngineError?](repeating: nil, count: Self.vehicles.count)) {
                $0[$1.0] = $1.1
            }
        }
    }

    @Test func `a row that another holds keeps only those waiting who need it`() async throws {
        try await self.withStore(patience: .seconds(60)) { store, pool in
            try await self.holding(pool) { release in
                let waiting = Task { try await store.write(self.add(to: [Self.vehicles[0]])) }
                try await self.untilOneWaits(pool)
                for id in Self.vehicles.dropFirst() { try await store.write(self.add(to: [id])) }
                #expect(try await self.capacities(store) == [0, 1, 1, 1])
                release()
                try await waiting.value
                #expect(try await self.capacities(store) == [1, 1, 1, 1])
            }
        }
    }

    @Test func `a row that a body comes upon later is waited for as well`() async throws {
        try await self.withStore(patience: .seconds(60)) { store, pool in
            try await self.holding(pool) { release in
                let waiting = Task {
                    try await store.write(self.add(to: [Self.vehicles[1], Self.vehicles[0]]))
                }
                try await self.untilOneWaits(pool)
                release()
                try await waiting.value
                #expect(try await self.capacities(store) == [1, 1, 0, 0])
            }
        }
    }

    @Test func `who must be alone and waits for a group that stands still lets the others through`() async throws {
        try await self.withStore(patience: .seconds(60)) { store, pool in
            let group = "SELECT pg_advisory_xact_lock_shared(\(PostgreSQLEngineSchema.writersLock))"
            try await self.holding(pool, lock: group) { release in
                let waiting = Task {
                    try await store.write { transaction in
                        // What is absent may be made by others meanwhile.
                        #expect(try transaction.trip(TestID.trip, of: TestID.acme) == nil)
                        try self.add(to: [Self.vehicles[0]])(transaction)
                    }
                }
                try await self.untilOneWaits(pool)
                for _ in 0..<8 { try await store.write(self.add(to: Array(Self.vehicles.dropFirst()))) }
                #expect(try await self.capacities(store) == [0, 8, 8, 8])
                release()
                try await waiting.value
                #expect(try await self.capacities(store) == [1, 8, 8, 8])
            }
        }
    }

    @Test func `of many writes only the one that needs the row is given up`() async throws {
        try await self.withStore(patience: .zero) { store, pool in
            try await self.holding(pool) { _ in
                let failures = try await self.writeToEach(store)
                #expect(failures.map { $0?.reason } == ["STORE_CONTENDED", nil, nil, nil])
                #expect(failures[0]?.code == .unavailable)
                #expect(try await self.capacities(store) == [0, 1, 1, 1])
            }
        }
    }

    @Test func `a statement that the database refuses fails its own write, and none of its neighbours`() async throws {
        try await self.withStore(patience: .seconds(60)) { store, pool in
            try await pool.run { session in
                _ = try session.query(
                    .once("ALTER TABLE fleetpass.vehicle ADD CHECK (id <> 'veh-0') NOT VALID"))
            }
            let (starts, start) = AsyncStream.makeStream(of: Void.self)
            let (release, isFirstRun) = (DispatchSemaphore(value: 0), Locked(true))
            let holding = Task {
                try await store.write { _ in
                    let isFirst = isFirstRun.withLock { isFirst in
                        defer { isFirst = false }
                        return isFirst
                    }
                    guard isFirst else { return }
                    start.finish()
                    release.wait()
                }
            }
            for await _ in starts {}
            // All of them wait, so that they are one group.
            let failures = try await self.writeToEach(store) {
                while store.waitingWrites < Self.vehicles.count { await Task.yield() }
                release.signal()
            }
            try await holding.value
            #expect(failures.map { $0?.code } == [.internalError, nil, nil, nil])
            #expect(try await self.capacities(store) == [0, 1, 1, 1])
        }
    }

    @Test func `what a server may do later is unavailable, and what it never will is not`() {
        #expect(EngineError(PostgreSQLError(code: .serverFailed, message: "")).code == .unavailable)
        #expect(EngineError(PostgreSQLError(code: .connectionLost, message: "")).code == .unavailable)
        #expect(EngineError(PostgreSQLError(code: .statementFailed, message: "")).code == .internalError)
    }
}
