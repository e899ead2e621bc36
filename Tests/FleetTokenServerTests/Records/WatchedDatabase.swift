// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation

@testable import FleetTokenServer

/// A database that notes in which order withdrawals are written and the head of the audit is locked, and until when others
/// are waited for.
struct WatchedDatabase: TokenServerDatabase {
    private let database: any TokenServerDatabase
    private let beforeWriting: @Sendable () async throws -> Void
    private let beforeReading: @Sendable () async throws -> Void
    private let noted = Locked<[String]>([])
    private let notedDeadlines = Locked<[ContinuousClock.Instant]>([])

    var place: String { self.database.place }
    var steps: [String] { self.noted.withLock { $0 } }
    var deadlines: [ContinuousClock.Instant] { self.notedDeadlines.withLock { $0 } }

    /// Watches a database.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - beforeWriting: Done before each transaction that may change something.
    ///   - beforeReading: Done before each transaction that only looks.
    init(
        _ database: any TokenServerDatabase, beforeWriting: @escaping @Sendable () async throws -> Void,
        beforeReading: @escaping @Sendable () async throws -> Void = {}
    ) {
        self.database = database
        self.beforeWriting = beforeWriting
        self.beforeReading = beforeReading
    }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any TokenServerTransaction) throws -> Result
    ) async throws -> Result {
        try await self.beforeReading()
        return try await self.database.read(body)
    }

    func write<Result: Sendable>(
        until deadline: ContinuousClock.Instant,
        _ body: @escaping @Sendable (any TokenServerTransaction) throws -> Result
    ) async throws -> Result {
        self.notedDeadlines.withLock { $0.append(deadline) }
        try await self.beforeWriting()
        return try await self.database.write(until: deadline) { [noted] in try body(Transaction($0, noted)) }
    }

    func look() async throws { try await self.database.look() }

    func probe(commits: Bool) async throws { try await self.database.probe(commits: commits) }

    func close() throws { try self.database.close() }

    private final class Transaction: TokenServerTransaction {
        private let transaction: any TokenServerTransaction
        private let noted: Locked<[String]>

        init(_ transaction: any TokenServerTransaction, _ noted: Locked<[String]>) {
            self.transaction = transaction
            self.noted = noted
        }

        func rows(_ sql: String, _ values: [StoreValue], _ body: (any StoreRow) throws -> Bool) throws {
            try self.transaction.rows(sql, values, body)
        }

        func execute(_ sql: String, _ values: [StoreValue]) throws -> Int { try self.transaction.execute(sql, values) }

        func time() throws -> Date? { try self.transaction.time() }

        func lockHead() throws -> AuditHead {
            self.noted.withLock { $0.append("lock") }
            return try self.transaction.lockHead()
        }

        func append(_ entries: [AuditEntry], head: AuditHead) throws {
            try self.transaction.append(entries, head: head)
        }

        func withdraw(_ revocations: [Revocation]) throws {
            self.noted.withLock { $0.append("withdraw \(revocations.count)") }
            try self.transaction.withdraw(revocations)
        }
    }
}
