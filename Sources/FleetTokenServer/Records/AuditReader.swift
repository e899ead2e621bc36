// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB

/// Reads and checks the audit in a token server's store, also while a server writes to it.
public struct AuditReader: Sendable {
    private let store: TokenServerStore

    /// Reads the audit of a store.
    public init(store: TokenServerStore) {
        self.store = store
    }

    /// The end of the chain, to be noted elsewhere.
    ///
    /// - Throws: An error of SQLite.
    public func head() async throws -> AuditHead {
        try await self.store.pool.read(Self.keptHead)
    }

    /// When the last record was made; `nil` for an empty chain.
    func lastTime() async throws -> Date? {
        try await self.store.pool.read { database in
            try Int64.fetchOne(database, sql: "SELECT time_ms FROM audit_record ORDER BY sequence DESC LIMIT 1")
                .map { Date(timeIntervalSince1970: TimeInterval($0) / 1000) }
        }
    }

    /// Checks every record.
    ///
    /// - Parameter anchor: A head that was noted earlier, elsewhere; without one, a chain that was rewritten to its end
    ///   by someone who knows its form passes.
    /// - Returns: The head that the records lead to.
    /// - Throws: ``AuditFault`` at the first place that does not hold, or an error of SQLite.
    public func verify(anchor: AuditHead? = nil) async throws -> AuditHead {
        try await self.store.pool.read { database in
            var chain = AuditChain(anchor: anchor)
            let rows = try Row.fetchCursor(
                database, sql: "SELECT sequence, content, hash FROM audit_record ORDER BY sequence")
            while let row = try rows.next() { try chain.check(AuditEntry(row: row)) }
            try chain.finish(keptHead: Self.keptHead(database))
            return chain.head
        }
    }

    /// Hands out what a query finds, in the order in which it was decided.
    ///
    /// - Parameters:
    ///   - query: What to look for.
    ///   - body: Called for each match.
    /// - Throws: What the body throws, or an error of SQLite.
    public func search(_ query: AuditQuery, _ body: @escaping @Sendable (AuditMatch) throws -> Void) async throws {
        try await self.store.pool.read { database in
            try Self.search(query, in: database, body)
        }
    }

    /// The latest of what a query finds, newest first, among the last 10,000 records.
    ///
    /// - Parameters:
    ///   - query: What to look for.
    ///   - limit: The most to return.
    /// - Returns: The matches.
    /// - Throws: An error of SQLite.
    public func latest(_ query: AuditQuery, limit: Int) async throws -> [AuditMatch] {
        try await self.store.pool.read { database in
            let (condition, arguments) = query.sql
            let rows = try Row.fetchCursor(
                database,
                sql: """
                    SELECT sequence, content, hash FROM audit_record WHERE \(condition)
                    ORDER BY sequence DESC LIMIT 10000
                    """,
                arguments: arguments)
            var matches: [AuditMatch] = []
            while matches.count < limit, let row = try rows.next() {
                if let match = query.match(AuditEntry(row: row)) { matches.append(match) }
            }
            return matches
        }
    }

    static func search(_ query: AuditQuery, in database: Database, _ body: (AuditMatch) throws -> Void) throws {
        let (condition, arguments) = query.sql
        let rows = try Row.fetchCursor(
            database,
            sql: "SELECT sequence, content, hash FROM audit_record WHERE \(condition) ORDER BY sequence",
            arguments: arguments)
        while let row = try rows.next() {
            if let match = query.match(AuditEntry(row: row)) { try body(match) }
        }
    }

    static func keptHead(_ database: Database) throws -> AuditHead {
        guard let row = try Row.fetchOne(database, sql: "SELECT sequence, hash FROM audit_head") else {
            throw AuditFault(sequence: 1, message: "The head of the chain is missing.")
        }
        return AuditHead(sequence: row[0], hash: row[1])
    }
}

extension AuditEntry {
    fileprivate init(row: Row) {
        self.init(sequence: row[0], content: row[1], hash: row[2])
    }
}
