// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTestSupport
import FleetTokens
import Foundation
import PostgreSQLTestSupport
import Testing

@testable import FleetTokenServer

/// What becomes of records of the audit where others are in the way.
@Suite(.timeLimit(.minutes(5))) struct HeldAuditTests {
    private struct Refused: Error {}

    private static func record(_ number: Int) throws -> AuditRecord { try .granted(.server, at: Double(number)) }

    private static let holding = [
        "SET idle_in_transaction_session_timeout = 0", "BEGIN", "SELECT 1 FROM fleetpass.audit_head FOR UPDATE",
    ]

    @Test(.enabled(if: PostgreSQLServer.isInstalled, Comment(rawValue: PostgreSQLServer.absence)))
    func `while somebody holds the head of the chain, records are refused when their time is over`() async throws {
        let world = try await TemporaryStore.make(.postgreSQL)
        try await world.append(1)
        let watched = WatchedDatabase(world.store.database, beforeWriting: {})
        let log = StoredAuditLog(
            store: TokenServerStore(watched), logger: .silent, patience: .milliseconds(100))
        let holder = try world.bystander()
        try holder(Self.holding)
        for number in 1...2 {
            let error = await #expect(throws: TokenServerError.self) { try await log.append(Self.record(number)) }
            #expect(error?.code == .storeUnavailable)
            // Each waited for the head once, and not again when its time was over.
            #expect(watched.steps.count == number)
        }
        // Whoever comes late waits no more, and is kept where nobody is in the way.
        await #expect(throws: (any Error).self) {
            try await watched.write(until: .now - .seconds(1)) { _ = try $0.lockHead() }
        }
        #expect(watched.steps.count == 3)
        // Another use of the connection ends what was open on it.
        try holder(["SELECT 1"])
        try await world.append(1)
        try await watched.write(until: .now - .seconds(1)) { _ = try $0.lockHead() }
        #expect(try await world.reader.verify().head.sequence == 2)
    }

    @Test(.enabled(if: PostgreSQLServer.isInstalled, Comment(rawValue: PostgreSQLServer.absence)))
    func `what another was in the way of is done again at once, while there is time`() async throws {
        let world = try await TemporaryStore.make(.postgreSQL)
        try await world.append(1)
        let attempts = Locked(0)
        let made = try await world.store.database.write(until: .now + .seconds(60)) { database in
            let number = attempts.withLock { count in
                count += 1
                return count
            }
            // As where another node has made the same record meanwhile.
            if number < 4 { _ = try database.execute("INSERT INTO audit_record SELECT * FROM audit_record", []) }
            return number
        }
        #expect(made == 4)
    }

    @Test func `what waited too long is refused with the group that failed, and what came late is kept`() async throws {
        let world = try TemporaryStore()
        let (clock, isFirst) = (ManualClock(), Locked(true))
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let watched = WatchedDatabase(
            world.store.database,
            beforeWriting: {
                let isFailing = isFirst.withLock { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
                guard isFailing else { return }
                for await _ in gate {}
                throw Refused()
            })
        let log = StoredAuditLog(
            store: TokenServerStore(watched), logger: .silent, patience: .seconds(5), time: TimeSource(clock: clock))
        func append(_ number: Int) -> Task<Void, any Error> {
            Task { try await log.append(Self.record(number)) }
        }
        let start = ContinuousClock.now
        let first = append(1)
        while isFirst.withLock({ $0 }) { await Task.yield() }
        let second = append(2)
        while log.waitingRecords < 1 { await Task.yield() }
        clock.advance(by: .seconds(2))
        let third = append(3)
        while log.waitingRecords < 2 { await Task.yield() }
        clock.advance(by: .seconds(3))
        open.finish()
        for task in [first, second] {
            let error = await #expect(throws: TokenServerError.self) { try await task.value }
            #expect(error?.code == .storeUnavailable)
        }
        try await third.value
        // The first had all of its time left, and the third what it had not waited yet.
        for (deadline, left) in zip(try #require(watched.deadlines.count == 2 ? watched.deadlines : nil), [5, 2]) {
            #expect((start + .seconds(left) ... .now + .seconds(left)).contains(deadline))
        }
        #expect(try await world.reader.verify().head.sequence == 1)
    }
}
