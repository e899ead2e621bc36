// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Reads and checks the audit in a token server's store, also while a server writes to it.
public struct AuditReader: Sendable {
    /// How many records a search reads at once.
    private static let portion = 400

    private let store: TokenServerStore

    /// Reads the audit of a store.
    public init(store: TokenServerStore) {
        self.store = store
    }

    /// The end of the chain, to be noted elsewhere.
    ///
    /// - Throws: An error of the store.
    public func head() async throws -> AuditHead {
        try await self.store.database.read { try $0.keptHead() }
    }

    /// The part of the chain that is in the store; what was before is in archives.
    ///
    /// - Throws: An error of the store.
    public func span() async throws -> AuditSpan {
        try await self.store.database.read { try $0.keptSpan() }
    }

    /// When the last record was made; `nil` for an empty chain.
    func lastTime() async throws -> Date? { try await self.time(ofFirstBy: "sequence DESC") }

    /// When the first record was made that is not in an archive; `nil` where there is none.
    ///
    /// - Throws: An error of the store.
    public func firstTime() async throws -> Date? { try await self.time(ofFirstBy: "sequence") }

    private func time(ofFirstBy order: String) async throws -> Date? {
        try await self.store.database.read { database in
            var time: Date?
            // Those that were moved to an archive may be on their way out.
            try database.rows(
                """
                SELECT time_ms FROM audit_record WHERE sequence > (SELECT sequence FROM audit_start)
                ORDER BY \(order) LIMIT 1
                """, []
            ) { row in
                time = Date(timeIntervalSince1970: TimeInterval(try row.integer(0)) / 1000)
                return false
            }
            return time
        }
    }

    /// Checks every record.
    ///
    /// - Parameter anchor: A head that was noted earlier, elsewhere; without one, a chain that was rewritten to its end
    ///   by someone who knows its form passes.
    /// - Returns: The part of the chain that is here, which holds.
    /// - Throws: What ``verify(anchors:)`` throws.
    @discardableResult
    public func verify(anchor: AuditHead? = nil) async throws -> AuditSpan {
        try await self.verify(anchors: anchor.map { [$0] } ?? [])
    }

    /// Checks every record.
    ///
    /// - Parameter anchors: Heads that were noted earlier, elsewhere, or the head of the archive before; the chain runs
    ///   through each.
    /// - Returns: The part of the chain that is here, which holds.
    /// - Throws: ``AuditFault`` at the first place that does not hold, ``TokenServerError`` with
    ///   ``TokenServerError/Code/recordsArchived`` for an anchor that is in an archive, and for an archive whose start is
    ///   neither an anchor nor told by one of its records, or an error of the store.
    @discardableResult
    public func verify(anchors: [AuditHead]) async throws -> AuditSpan {
        try await self.store.database.read { database in
            let span = try database.keptSpan()
            var chain = try AuditChain(after: span.start, anchors: anchors)
            try database.rows(
                """
                SELECT sequence, content, hash, time_ms, fingerprint FROM audit_record WHERE sequence > ? ORDER BY sequence
                """, [.integer(span.start.sequence)]
            ) { row in
                let entry = try AuditEntry(row: row)
                try chain.check(entry)
                let event = entry.event
                let isFound =
                    try row.integer(3) == event?.time
                    && (row.isNull(4) ? nil : try row.text(4)) == event?.fingerprint
                guard isFound else {
                    throw AuditFault(
                        sequence: entry.sequence,
                        message: "Record \(entry.sequence) is searched by a time or fingerprint that is not its own.")
                }
                return true
            }
            try chain.finish(span)
            return span
        }
    }

    /// Hands out what a query finds, in the order in which it was decided, up to what is recorded when it begins.
    ///
    /// - Parameters:
    ///   - query: What to look for.
    ///   - start: Where the part of the chain that is here began when the caller looked, by ``span()``; `nil` takes what
    ///     is here as the search begins.
    ///   - body: Called for each match; it may take its time, as the store is not kept waiting.
    /// - Throws: What the body throws, ``TokenServerError`` with ``TokenServerError/Code/recordsArchived`` where records
    ///   were moved to an archive before they were read, or an error of the store.
    public func search(
        _ query: AuditQuery, after start: AuditHead? = nil, _ body: @escaping @Sendable (AuditMatch) throws -> Void
    ) async throws {
        let found = try await self.store.database.read { database in
            if let start { try Self.requireAll(after: start.sequence, in: database) }
            return try Self.span(of: query, in: database)
        }
        guard var span = found else { return }
        while true {
            let entries = try await self.store.database.read { [span] database in
                try Self.entries(query, within: span, atMost: Self.portion, in: database)
            }
            for entry in entries {
                if let match = query.match(entry) { try body(match) }
            }
            guard entries.count == Self.portion, let last = entries.last?.sequence, last < span.upperBound else {
                return
            }
            span = last + 1...span.upperBound
        }
    }

    /// The sequences from the first record to the last that the database finds for a query; `nil` where it finds none.
    private static func span(
        of query: AuditQuery, in database: any TokenServerTransaction
    ) throws -> ClosedRange<Int64>? {
        let (condition, values) = query.sql
        // With a condition, the sequence is computed so that the condition's index is used and not the sequence's.
        let sql =
            values.isEmpty
            ? "SELECT (SELECT min(sequence) FROM audit_record), (SELECT max(sequence) FROM audit_record)"
            : "SELECT min(sequence + 0), max(sequence + 0) FROM audit_record WHERE \(condition)"
        var span: ClosedRange<Int64>?
        try database.rows(sql, values) { row in
            if !row.isNull(0) { span = try row.integer(0)...row.integer(1) }
            return false
        }
        // Those that were moved to an archive may be on their way out.
        let start = try database.keptSpan().start.sequence
        guard let found = span, found.upperBound > start else { return nil }
        return max(found.lowerBound, start + 1)...found.upperBound
    }

    /// A portion of what the database finds for a query, from the beginning of a span on.
    ///
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/recordsArchived`` where the span is not all here, or an
    ///   error of the database.
    static func entries(
        _ query: AuditQuery, within span: ClosedRange<Int64>, atMost limit: Int,
        in database: any TokenServerTransaction
    ) throws -> [AuditEntry] {
        try Self.requireAll(after: span.lowerBound - 1, in: database)
        let (condition, values) = query.sql
        var entries: [AuditEntry] = []
        try database.rows(
            """
            SELECT sequence, content, hash FROM audit_record WHERE \(condition) AND sequence >= ? AND sequence <= ?
            ORDER BY sequence LIMIT \(limit)
            """, values + [.integer(span.lowerBound), .integer(span.upperBound)]
        ) { row in
            entries.append(try AuditEntry(row: row))
            return true
        }
        return entries
    }

    /// Refuses where records after a sequence are not here any more.
    private static func requireAll(after sequence: Int64, in database: any TokenServerTransaction) throws {
        let start = try database.keptSpan().start.sequence
        guard start <= sequence else {
            throw TokenServerError(
                code: .recordsArchived,
                message:
                    "The records up to \(start) were moved to an archive meanwhile; read that, and run this again.")
        }
    }

    /// The latest of what a query finds, newest first, among the last 10,000 records.
    ///
    /// - Parameters:
    ///   - query: What to look for.
    ///   - limit: The most to return.
    /// - Returns: The matches.
    /// - Throws: An error of the store.
    public func latest(_ query: AuditQuery, limit: Int) async throws -> [AuditMatch] {
        try await self.store.database.read { database in
            let (condition, values) = query.sql
            var matches: [AuditMatch] = []
            try database.rows(
                """
                SELECT sequence, content, hash FROM audit_record WHERE \(condition)
                ORDER BY sequence DESC LIMIT 10000
                """, values
            ) { row in
                guard matches.count < limit else { return false }
                if let match = query.match(try AuditEntry(row: row)) { matches.append(match) }
                return true
            }
            return matches
        }
    }

    /// Hands out what a query finds within a transaction.
    static func search(
        _ query: AuditQuery, in database: any TokenServerTransaction, _ body: (AuditMatch) throws -> Void
    ) throws {
        let (sql, values) = Self.statement(of: query)
        try database.rows(sql, values) { row in
            if let match = query.match(try AuditEntry(row: row)) { try body(match) }
            return true
        }
    }

    /// What finds a query's records within a transaction, in their order.
    static func statement(of query: AuditQuery) -> (sql: String, values: [StoreValue]) {
        let (condition, values) = query.sql
        // Computed so that the condition's index is used: in the sequence's own order, the whole audit would be read.
        return ("SELECT sequence, content, hash FROM audit_record WHERE \(condition) ORDER BY sequence + 0", values)
    }
}

extension AuditEntry {
    fileprivate init(row: any StoreRow) throws {
        self.init(sequence: try row.integer(0), content: try row.text(1), hash: try row.text(2))
    }
}
