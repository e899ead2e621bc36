// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetPostgreSQL
import FleetSigning
import Foundation
import Logging

/// The token server's tables in PostgreSQL, shared by many nodes.
struct PostgreSQLTokenDatabase: TokenServerDatabase {
    private static let attempts = 4

    private let pool: PostgreSQLPool
    private let limits: PostgreSQLLimits
    var place: String { self.pool.address.description }

    init(
        _ address: PostgreSQLAddress, connections: Int, limits: PostgreSQLLimits = PostgreSQLLimits(),
        tablesMadeBy maker: PostgreSQLTables.Maker = .firstConnection, logger: Logger
    ) {
        self.limits = limits
        self.pool = PostgreSQLPool(
            address, connections: connections, limits: limits,
            tables: PostgreSQLTables(TokenServerSchema.postgreSQL, madeBy: maker), logger: logger)
    }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any TokenServerTransaction) throws -> Result
    ) async throws -> Result {
        try await self.run(until: .now + .patience, body) { _ in
            [.once("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")]
        }
    }

    func write<Result: Sendable>(
        until deadline: ContinuousClock.Instant,
        _ body: @escaping @Sendable (any TokenServerTransaction) throws -> Result
    ) async throws -> Result {
        try await self.run(until: deadline, body) { [limits] left in
            // No lock is waited for past the deadline; with zero, PostgreSQL would wait for ever.
            let wait = Int64(max(.zero, min(left, limits.lock)) / .milliseconds(1)) + 1
            return [
                .once("BEGIN"),
                PostgreSQLStatement("SELECT set_config('lock_timeout', $1, true)", [.text("\(wait)ms")]),
            ]
        }
    }

    /// Does nothing: whoever names the database finds the same.
    func look() {}

    func probe(commits: Bool) async throws {
        try await self.pool.run { session in
            defer { session.rollBack() }
            // In one round trip, so that records wait for it as little as can be.
            _ = try session.pipeline([
                .once("BEGIN"), .once("SET LOCAL lock_timeout = '2s'"),
                PostgreSQLStatement("UPDATE audit_head SET sequence = sequence"),
                .once("SAVEPOINT probe"),
                // One of no rows finds what is not permitted, and leaves nothing behind that has to be cleared away.
                PostgreSQLStatement(
                    """
                    INSERT INTO audit_record (sequence, content, hash, time_ms)
                    SELECT sequence + 1, repeat('x', 1000), hash, 0 FROM audit_head LIMIT $1
                    """, [.integer(commits ? 1 : 0)]),
                .once("ROLLBACK TO SAVEPOINT probe"),
                .once(commits ? "COMMIT" : "ROLLBACK"),
            ])
        }
    }

    func close() { self.pool.finish() }

    /// Runs a body in a transaction that begins with what is made of the time that is left.
    private func run<Result: Sendable>(
        until deadline: ContinuousClock.Instant,
        _ body: @escaping @Sendable (any TokenServerTransaction) throws -> Result,
        begin: @escaping @Sendable (_ left: Duration) -> [PostgreSQLStatement]
    ) async throws -> Result {
        try await self.pool.run { session in
            // What another node was in the way of is done again; by then, that node is through, or holds on to it.
            for _ in 1..<Self.attempts {
                do {
                    return try Self.attempt(session, begin(deadline - .now), body)
                } catch let error as PostgreSQLError where error.code == .conflict && .now < deadline {
                    continue
                }
            }
            return try Self.attempt(session, begin(deadline - .now), body)
        }
    }

    private static func attempt<Result>(
        _ session: PostgreSQLSession, _ begin: [PostgreSQLStatement],
        _ body: (any TokenServerTransaction) throws -> Result
    ) throws -> Result {
        let transaction = PostgreSQLTokenTransaction(session, begin: begin)
        do {
            let result = try body(transaction)
            try transaction.commit()
            return result
        } catch {
            session.rollBack()
            throw error
        }
    }
}

/// A transaction of PostgreSQL; statements whose answer nobody waits for travel with the next one.
final class PostgreSQLTokenTransaction: TokenServerTransaction {
    private static let portion = 500

    private let session: PostgreSQLSession
    private var pending: [PostgreSQLStatement]
    private var cursors = 0

    init(_ session: PostgreSQLSession, begin: [PostgreSQLStatement]) {
        self.session = session
        self.pending = begin
    }

    func rows(_ sql: String, _ values: [StoreValue], _ body: (any StoreRow) throws -> Bool) throws {
        self.cursors += 1
        let cursor = "rows_\(self.cursors)"
        let fetch = PostgreSQLStatement.once("FETCH \(Self.portion) FROM \(cursor)")
        var statements = [
            PostgreSQLStatement.once(
                "DECLARE \(cursor) NO SCROLL CURSOR FOR \(Self.numbered(sql))", values.map(PostgreSQLValue.init)),
            fetch,
        ]
        while let rows = try self.send(statements).last {
            for number in 0..<rows.count where try !body(PostgreSQLStoreRow(row: rows[number])) { return }
            guard rows.count == Self.portion else { return }
            statements = [fetch]
        }
    }

    func execute(_ sql: String, _ values: [StoreValue]) throws -> Int {
        try self.send([PostgreSQLStatement(Self.numbered(sql), values.map(PostgreSQLValue.init))]).last?.changed ?? 0
    }

    func time() throws -> Date? {
        let statement = PostgreSQLStatement("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint")
        guard let row = try self.send([statement]).last?.first else {
            throw PostgreSQLError(code: .statementFailed, message: "PostgreSQL does not tell the time.")
        }
        return Date(timeIntervalSince1970: TimeInterval(try row.integer(0)) / 1000)
    }

    func lockHead() throws -> AuditHead {
        guard
            let row = try self.send([PostgreSQLStatement("SELECT sequence, hash FROM audit_head FOR UPDATE")]).last?
                .first
        else { throw AuditFault(sequence: 1, message: "The head of the chain is missing.") }
        return AuditHead(sequence: try row.integer(0), hash: try row.text(1))
    }

    func append(_ entries: [AuditEntry], head: AuditHead) {
        let events = entries.map(\.event)
        self.pending += [
            PostgreSQLStatement(
                """
                INSERT INTO audit_record (sequence, content, hash, time_ms, fingerprint)
                SELECT * FROM unnest($1, $2, $3, $4, $5)
                """,
                [
                    .integers(entries.map(\.sequence)), .texts(entries.map(\.content)), .texts(entries.map(\.hash)),
                    .integers(events.map { $0?.time ?? 0 }), .texts(events.map { $0?.fingerprint }),
                ]),
            PostgreSQLStatement(
                "UPDATE audit_head SET sequence = $1, hash = $2", [.integer(head.sequence), .text(head.hash)]),
        ]
    }

    func withdraw(_ revocations: [Revocation]) {
        self.pending.append(.once("LOCK TABLE revocation IN SHARE ROW EXCLUSIVE MODE"))
        guard !revocations.isEmpty else { return }
        self.pending.append(
            PostgreSQLStatement(
                """
                INSERT INTO revocation (kind, value, ends_at) SELECT * FROM unnest($1, $2, $3)
                ON CONFLICT (kind, value) DO UPDATE SET ends_at = excluded.ends_at
                """,
                [
                    .texts(revocations.map(\.kind.rawValue)), .texts(revocations.map(\.value)),
                    .integers(revocations.map { RevocationStore.seconds($0.endsAt) }),
                ]))
    }

    func commit() throws { _ = try self.send([.once("COMMIT")]) }

    private func send(_ statements: [PostgreSQLStatement]) throws -> [PostgreSQLRows] {
        defer { self.pending = [] }
        return try self.session.pipeline(self.pending + statements)
    }

    /// A statement with PostgreSQL's `$1` and up for `?`.
    private static func numbered(_ sql: String) -> String {
        let parts = sql.split(separator: "?", omittingEmptySubsequences: false)
        return parts.dropFirst().enumerated().reduce(into: String(parts[0])) { text, part in
            text += "$\(part.offset + 1)\(part.element)"
        }
    }
}

private struct PostgreSQLStoreRow: StoreRow {
    let row: PostgreSQLRow

    func integer(_ column: Int) throws -> Int64 { try self.row.integer(Int32(column)) }
    func text(_ column: Int) throws -> String { try self.row.text(Int32(column)) }
    func isNull(_ column: Int) -> Bool { self.row.isNull(Int32(column)) }
}

extension PostgreSQLValue {
    fileprivate init(_ value: StoreValue) {
        self =
            switch value {
            case .null: .null
            case .integer(let number): .integer(number)
            case .text(let text): .text(text)
            }
    }
}
