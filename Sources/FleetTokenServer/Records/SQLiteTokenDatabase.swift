// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSQLite
import FleetSigning
import Foundation
import GRDB

/// The token server's tables in a SQLite file.
struct SQLiteTokenDatabase: TokenServerDatabase {
    /// What a file is opened for.
    enum Use {
        /// Reading the audit of a store or an archive.
        case reading
        /// Reading what a store says of now, which an archive says nothing of.
        case listing
        /// Changing a store.
        case changing
        /// Serving, by which a file with nothing in it becomes a store.
        case making
    }

    /// What a file holds, of this version or another.
    enum Contents {
        /// Nothing yet.
        case nothing
        case store
        /// A part of the audit, which is only read.
        case archive
        /// What a killed program left half written, which cannot be read before it is rolled back.
        case halfWritten
        /// Something else than the token server's.
        case others
    }

    private let connections: any DatabaseWriter
    /// A store that is written; `nil` for one that is only read.
    private let written: DurableDatabase?
    let place: String

    /// Opens a file that exists.
    ///
    /// - Parameters:
    ///   - path: The file; one that does not hold what is wanted is left as it is. What a killed program left half
    ///     written in it is rolled back, unless it is only read.
    ///   - use: What it is opened for.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/storeUnavailable`` or
    ///   ``TokenServerError/Code/storeUnreachable`` that says what to mend.
    init(_ path: String, for use: Use) throws(TokenServerError) {
        func unavailable(_ message: String) -> TokenServerError {
            TokenServerError(code: .storeUnavailable, message: "The token server's store \(message)")
        }
        if let problem = PathProblem.reading(path) {
            throw unavailable("cannot be read: \(problem). Name the store that a token server made, as its user.")
        }
        self.place = path
        do {
            switch (try Self.contents(of: path, isMended: [.changing, .making].contains(use)), use) {
            case (.store, .reading), (.archive, .reading), (.store, .listing):
                let queue = try SQLiteFile.reader(of: path)
                guard try queue.read(TokenServerSchema.migrator.isComplete) else {
                    throw unavailable(
                        "\(path) was written by an older version, and is not changed by being read; start its server, which "
                            + "brings it up to date, or read it with that version.")
                }
                self.connections = queue
                self.written = nil
                return
            case (.store, _), (.nothing, .making): break
            case (.archive, _):
                // A chain that continues elsewhere must not be continued here too.
                throw unavailable(
                    "\(path) is an archive of the audit, which is only read; name the token-server.sqlite of a data "
                        + "folder.")
            case (.halfWritten, _):
                throw unavailable(
                    "\(path) was left half written by a program that was killed; start its server, which mends it.")
            case (.others, .making):
                throw Self.noStore(path, "move it away, and a new one is made")
            case (.nothing, _):
                throw Self.noStore(path, "start its server first, which makes it, or name another store")
            case (.others, _):
                throw Self.noStore(path, "name the token-server.sqlite of its data folder")
            }
            var configuration = Configuration.patient
            configuration.label = "fleetpass.token-store"
            let store = try DurableDatabase(path, configuration: configuration, migrator: TokenServerSchema.migrator)
            self.connections = store.pool
            self.written = store
        } catch is DurableDatabase.Superseded {
            throw unavailable(
                "\(path) was written by another program or a newer version; run that version, or name another.")
        } catch let error as TokenServerError {
            throw error
        } catch let error as DatabaseError {
            throw TokenServerError(error, of: path)
        } catch {
            throw unavailable("\(path) cannot be opened: \(error). Make it readable and writable, or name another.")
        }
    }

    private static func noStore(_ path: String, _ next: String) -> TokenServerError {
        TokenServerError(code: .storeUnavailable, message: "\(path) is no store of a token server; \(next).")
    }

    /// Looks what a file holds.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - isMended: Whether what a killed program left half written in it is rolled back; it is not changed otherwise.
    /// - Returns: What it holds.
    /// - Throws: An error of SQLite.
    static func contents(of path: String, isMended: Bool = false) throws -> Contents {
        do {
            return try SQLiteFile.look(at: path, isMended: isMended) { try Self.contents($0) }
        } catch let error as DatabaseError where error.extendedResultCode == .SQLITE_READONLY_ROLLBACK {
            return .halfWritten
        }
    }

    private static func contents(_ database: Database) throws -> Contents {
        let migrator = TokenServerSchema.migrator
        guard try database.tableExists("audit_head") else {
            return try migrator.findsNothing(in: database) ? .nothing : .others
        }
        let isArchive =
            try migrator.hasCompletedMigrations(database)
            && Bool.fetchOne(database, sql: "SELECT is_archive FROM audit_start") ?? false
        return isArchive ? .archive : .store
    }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any TokenServerTransaction) throws -> Result
    ) async throws -> Result {
        try await self.wording {
            try await self.connections.read { [written] database in
                try written?.checkPlace(of: database)
                return try body(SQLiteTokenTransaction(database))
            }
        }
    }

    func write<Result: Sendable>(
        until _: ContinuousClock.Instant,
        _ body: @escaping @Sendable (any TokenServerTransaction) throws -> Result
    ) async throws -> Result {
        try await self.wording {
            try await self.connections.write { [written] database in
                try written?.checkPlace(of: database)
                return try body(SQLiteTokenTransaction(database))
            }
        }
    }

    /// Does something, and tells what SQLite says to it in words.
    private func wording<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as DatabaseError {
            throw TokenServerError(error, of: self.place)
        } catch let error as DurableDatabase.FileMoved {
            throw TokenServerError(error)
        }
    }

    func look() async throws {
        try await self.wording { try await self.written?.look() }
    }

    func probe(commits: Bool) async throws {
        try await self.wording {
            try await self.connections.writeWithoutTransaction { [written] database in
                try written?.checkPlace(of: database)
                try Self.probe(database, commits: commits)
            }
        }
    }

    private static func probe(_ database: Database, commits: Bool) throws {
        try database.setPatience(milliseconds: 2000)
        defer { try? database.setPatience() }
        try database.inTransaction(.immediate) {
            try database.execute(sql: "UPDATE audit_head SET sequence = sequence")
            try database.inSavepoint {
                // It takes more pages than a record does: what has room for it has room for one.
                try database.execute(
                    sql: """
                        INSERT INTO audit_record (sequence, content, hash)
                        SELECT sequence + 1, json_object('time_ms', 0, 'probe', hex(zeroblob(8192))), hash FROM audit_head
                        """)
                // What is taken back would never be written otherwise.
                if commits { try database.writeChangedPages() }
                return .rollback
            }
            return commits ? .commit : .rollback
        }
    }

    func close() throws {
        // What is only read has a server of its own to move records.
        if let written = self.written { try written.close() } else { try self.connections.close() }
    }
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
