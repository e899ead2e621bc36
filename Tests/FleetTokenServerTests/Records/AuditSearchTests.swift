// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import Logging
import PostgreSQLTestSupport
import Testing

@testable import FleetTokenServer

/// Searches for who could read trip T at 14:05.
@Suite struct AuditSearchTests {
    private static let fiveAfterTwo: Double = 1_767_276_300

    private static func world(_ kind: TokenStoreKind) async throws -> TemporaryStore {
        let world = try await TemporaryStore.make(kind)
        let log = StoredAuditLog(store: world.store, logger: Logger(label: "test"))
        let now = Self.fiveAfterTwo
        func add(_ caller: String, _ type: TokenType, minutes: Double) async throws {
            try await log.append(.granted(type, at: now + minutes * 60, to: caller, subject: "user of \(caller)"))
        }
        let trip = try TripID(checking: "T")
        try await add("an hour before", .consumer(trip), minutes: -60)
        try await add("just ended", .consumer(trip), minutes: -55)
        try await add("about to end", .consumer(trip), minutes: -54)
        try await add("customer", .consumer(trip), minutes: -10)
        try await add("stranger", .consumer(try TripID(checking: "U")), minutes: -10)
        try await add("driver", .driver(try VehicleID(checking: "V")), minutes: -5)
        try await add("backend", .server, minutes: -5)
        try await add("reader", .fleetReader, minutes: -5)
        try await add("parcels", .deliveryServer, minutes: -5)
        try await add("that minute", .consumer(trip), minutes: 0)
        try await add("too late", .consumer(trip), minutes: 1)
        try await log.append(
            AuditRecord(
                time: Date(timeIntervalSince1970: now - 60), caller: Caller(name: "refused", issuer: "test"),
                role: .consumer,
                claims: try TokenType.consumer(trip).claims, decision: .refused, reason: "not theirs"))
        return world
    }

    private static func callers(
        in world: TemporaryStore, _ change: (inout AuditQuery) throws -> Void
    ) async throws -> [String] {
        var query = AuditQuery()
        try change(&query)
        return try await world.matches(query).map { match in
            (match.caller ?? "?") + (match.onlyWhileAssignedTo.map { " of \($0)" } ?? "")
        }
    }

    @Test(arguments: TokenStoreKind.available)
    func `a trip's readers are those whose tokens reached it and lived`(kind: TokenStoreKind) async throws {
        let world = try await Self.world(kind)
        let found = try await Self.callers(in: world) { query in
            query.resource = .trip(try TripID(checking: "T"))
            query.time = Date(timeIntervalSince1970: Self.fiveAfterTwo)
        }
        #expect(found == ["about to end", "customer", "driver of V", "backend", "reader", "that minute"])
    }

    @Test(arguments: TokenStoreKind.available, [("V", true), ("W", false)])
    func `a driver counts where the trip was known to be the vehicle's`(
        kind: TokenStoreKind, vehicle: (id: String, isFound: Bool)
    ) async throws {
        let world = try await Self.world(kind)
        let found = try await Self.callers(in: world) { query in
            query.resource = .trip(try TripID(checking: "T"))
            query.vehicleOfTrip = try VehicleID(checking: vehicle.id)
            query.time = Date(timeIntervalSince1970: Self.fiveAfterTwo)
        }
        #expect(found.contains("driver") == vehicle.isFound)
        #expect(found.contains("customer"))
    }

    @Test(arguments: TokenStoreKind.available)
    func `a vehicle's readers have its claim or the wildcard`(kind: TokenStoreKind) async throws {
        let world = try await Self.world(kind)
        let found = try await Self.callers(in: world) { query in
            query.resource = .vehicle(try VehicleID(checking: "V"))
            query.time = Date(timeIntervalSince1970: Self.fiveAfterTwo)
        }
        #expect(found == ["driver", "backend", "reader"])
    }

    @Test(arguments: TokenStoreKind.available)
    func `a shipment's readers are found by its wildcard`(kind: TokenStoreKind) async throws {
        let world = try await Self.world(kind)
        let found = try await Self.callers(in: world) { $0.resource = .tracking(try TrackingID(checking: "S")) }
        #expect(found == ["reader", "parcels"])
    }

    @Test(arguments: TokenStoreKind.available)
    func `records are found by caller, user, fingerprint, decision and span`(kind: TokenStoreKind) async throws {
        let world = try await Self.world(kind)
        let now = Self.fiveAfterTwo
        #expect(try await Self.callers(in: world) { $0.caller = "driver" } == ["driver"])
        #expect(try await Self.callers(in: world) { $0.subject = "user of reader" } == ["reader"])
        #expect(try await Self.callers(in: world) { $0.fingerprint = "00ff\(Int64(now * 1000))" } == ["that minute"])
        #expect(try await Self.callers(in: world) { $0.decision = .refused } == ["refused"])
        let span = try await Self.callers(in: world) { query in
            query.from = Date(timeIntervalSince1970: now)
            query.until = Date(timeIntervalSince1970: now + 60)
        }
        #expect(span == ["that minute"])
    }

    @Test(arguments: TokenStoreKind.available)
    func `a long answer comes whole and in order`(kind: TokenStoreKind) async throws {
        let world = try await TemporaryStore.make(kind)
        let log = StoredAuditLog(store: world.store, logger: Logger(label: "test"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...900 {
                group.addTask { try await log.append(.granted(.server, at: Double(number))) }
            }
            try await group.waitForAll()
        }
        #expect(try await world.matches(AuditQuery()).map(\.entry.sequence) == Array(1...900))
        var late = AuditQuery()
        late.from = Date(timeIntervalSince1970: 100)
        let times = try await world.matches(late).map(\.event.time)
        #expect(times.sorted() == (Int64(100)...900).map { $0 * 1000 })
    }

    @Test(
        arguments: [
            (nil, "INDEX audit_record_time (time_ms>?)"),
            (AuditHead(sequence: 7, hash: ""), "INTEGER PRIMARY KEY (rowid>?)"),
        ] as [(AuditHead?, String)])
    func `an index finds what was decided lately and what came after a place`(
        after: AuditHead?, index: String
    ) async throws {
        let world = try TemporaryStore()
        defer { withExtendedLifetime(world) {} }
        var query = AuditQuery()
        query.from = Date(timeIntervalSince1970: Self.fiveAfterTwo)
        query.after = after
        query.mentioned = "driver-7"
        let (sql, values) = AuditReader.statement(of: query)
        let plan = try await world.store.database.read { database in
            var plan: [String] = []
            try database.rows("EXPLAIN QUERY PLAN \(sql)", values) { row in
                plan.append(try row.text(3))
                return true
            }
            return plan
        }
        #expect(plan.first == "SEARCH audit_record USING \(index)", "\(plan)")
    }

    @Test(.enabled(if: PostgreSQLServer.isInstalled, Comment(rawValue: PostgreSQLServer.absence)))
    func `no transaction waits for who reads the matches, and what comes meanwhile is not among them`() async throws {
        let world = try await TemporaryStore.make(.postgreSQL)
        defer { withExtendedLifetime(world) {} }
        // More than are read at once.
        try await world.append(401)
        let meanwhile = try world.bystander()
        let found = Locked<[Int64]>([])
        try await world.reader.search(AuditQuery()) { match in
            found.withLock { $0.append(match.entry.sequence) }
            guard match.entry.sequence == 1 else { return }
            // As the server does with a transaction that waits for long.
            try meanwhile([
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND state = 'idle in transaction'
                """,
                """
                INSERT INTO fleetpass.audit_record
                SELECT sequence + 401, content, hash, time_ms, fingerprint FROM fleetpass.audit_record
                WHERE sequence = 1
                """,
            ])
        }
        #expect(found.withLock { $0 } == Array(1...401))
    }
}
