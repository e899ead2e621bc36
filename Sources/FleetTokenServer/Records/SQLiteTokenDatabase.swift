// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning
import Foundation
import GRDB

/// The token server's tables in a SQLite file.
struct SQLiteTokenDatabase: TokenServerDatabase {
    /// How long is waited for another process that writes.
    private static let busySeconds = 5

    private let connections: any DatabaseWriter
    let place: String

    /// Opens a file that exists.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - isChanged: Whether one without the tables gets them, and an archive is refused; otherwise it is the other way
    ///     round.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/storeUnavailable`` that says what to mend.
    init(_ path: String, isChanged: Bool) throws(TokenServerError) {
        func unavailable(_ message: String) -> TokenServerError {
            TokenServerError(code: .storeUnavailable, message: "The token server's store \(message)")
        }
        if let problem = PathProblem.reading(path) {
            throw unavailable("cannot be read: \(problem). Name the store that a token server made, as its user.")
        }
        self.place = path
        do {
            let contents = try Self.contents(of: path, isRead: !isChanged)
            switch contents {
            case .nothing:
                guard isChanged else {
                    throw TokenServerError(
                        code: .storeUnavailable,
                        message:
                            "\(path) is no store of a token server; name the token-server.sqlite of its data folder."
                    )
                }
            case .tables: break
            case .archive(let queue):
                // A chain that continues elsewhere must not be continued here too.
                guard let queue else {
                    throw unavailable(
                        "\(path) is an archive of the audit, which is only read; name the token-server.sqlite of a data "
                            + "folder.")
                }
                self.connections = queue
                return
            }
            var configuration = Configuration()
            configuration.label = "fleetpass.token-store"
            configuration.busyMode = .timeout(TimeInterval(Self.busySeconds))
            let pool = try DatabasePool(path: path, configuration: configuration)
            // Set after opening: switching to WAL lowers it, and a commit must have reached the disk.
            try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
            guard try !pool.read(TokenServerSchema.migrator.hasBeenSuperseded) else {
                throw unavailable(
                    "\(path) was written by another program or a newer version; run that version, or name another.")
            }
            try TokenServerSchema.migrator.migrate(pool)
            self.connections = pool
        } catch let error as TokenServerError {
            throw error
        } catch {
            throw unavailable("\(path) cannot be opened: \(error). Make it readable and writable, or name another.")
        }
    }

    /// What a file holds.
    private enum Contents {
        case nothing
        case tables
        /// An archive of the audit; opened, where it is to be read.
        case archive(DatabaseQueue?)
    }

    /// Looks what a file holds, of this version or an older one; it is not changed.
    private static func contents(of path: String, isRead: Bool) throws -> Contents {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(TimeInterval(self.busySeconds))
        do {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            let (hasTables, isArchive) = try queue.read { database in
                (
                    try database.tableExists("audit_head"),
                    try TokenServerSchema.migrator.hasCompletedMigrations(database)
                        && Bool.fetchOne(database, sql: "SELECT is_archive FROM audit_start") ?? false
                )
            }
            if isArchive, isRead { return .archive(queue) }
            try queue.close()
            return isArchive ? .archive(nil) : hasTables ? .tables : .nothing
        } catch let error as DatabaseError where error.resultCode == .SQLITE_NOTADB {
            return .nothing
        }
    }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any TokenServerTransaction) throws -> Result
    ) async throws -> Result {
        try await self.connections.read { try body(SQLiteTokenTransaction($0)) }
    }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any TokenServerTransaction) throws -> Result
    ) async throws -> Result {
        try await self.connections.write { try body(SQLiteTokenTransaction($0)) }
    }

    func probe(commits: Bool) async throws {
        try await self.connections.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA busy_timeout = 2000")
            defer { try? database.execute(sql: "PRAGMA busy_timeout = \(1000 * Self.busySeconds)") }
            try database.inTransaction(.immediate) {
                try database.execute(sql: "UPDATE audit_head SET sequence = sequence")
                return commits ? .commit : .rollback
            }
        }
    }

    func close() throws { try self.connections.close() }
}

/// A transaction of the SQLite file; there is one writer at a time, whatever the process.
final class SQLiteTokenTransaction: TokenServerTransaction {
    private let database: Database

    init(_ database: Database) {
        self.database = database
    }

    func rows(_ sql: String, _ values: [StoreValue], _ body: (any StoreRow) throws -> Bool) throws {
        let rows = try Row.fetchCursor(try self.statement(sql), arguments: Self.arguments(values))
        while let row = try rows.next(), try body(SQLiteStoreRow(row: row)) {}
    }

    @discardableResult
    func execute(_ sql: String, _ values: [StoreValue]) throws -> Int {
        try self.statement(sql).execute(arguments: Self.arguments(values))
        return self.database.changesCount
    }

    func time() -> Date? { nil }

    func lockHead() throws -> AuditHead { try self.keptHead() }

    func append(_ entries: [AuditEntry], head: AuditHead) throws {
        let insert = try self.statement("INSERT INTO audit_record (sequence, content, hash) VALUES (?, ?, ?)")
        for entry in entries {
            try insert.execute(arguments: [entry.sequence, entry.content, entry.hash])
        }
        try self.execute(
            "UPDATE audit_head SET sequence = ?, hash = ?", [.integer(head.sequence), .text(head.hash)])
    }

    func withdraw(_ revocations: [Revocation]) throws {
        let insert = try self.statement(
            """
            INSERT INTO revocation (kind, value, ends_at) VALUES (?, ?, ?)
            ON CONFLICT (kind, value) DO UPDATE SET ends_at = excluded.ends_at
            """)
        for revocation in revocations {
            try insert.execute(arguments: [
                revocation.kind.rawValue, revocation.value, RevocationStore.seconds(revocation.endsAt),
            ])
        }
    }

    private func statement(_ sql: String) throws -> Statement { try self.database.cachedStatement(sql: sql) }

    private static func arguments(_ values: [StoreValue]) -> StatementArguments {
        StatementArguments(
            values.map { value -> (any DatabaseValueConvertible)? in
                switch value {
                case .null: nil
                case .integer(let number): number
                case .text(let text): text
                }
            })
    }
}

private struct SQLiteStoreRow: StoreRow {
    let row: Row

    func integer(_ column: Int) throws -> Int64 { try self.row.decode(Int64.self, atIndex: column) }
    func text(_ column: Int) throws -> String { try self.row.decode(String.self, atIndex: column) }
    func isNull(_ column: Int) -> Bool { self.row.hasNull(atIndex: column) }
}
