// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetPostgreSQL
import FleetSQLite
import GRDB
import Logging

extension TokenServerStore {
    /// What a look at a store found.
    package enum Inspection: Sendable {
        /// It answers, and can be used.
        case usable(Tables)
        /// No server answers, or none that takes the changes that are tried; and what to do about it.
        case unreachable(String, next: String)
        /// The server answers, or the file is there, and the store cannot be used as it is; and what to do about it.
        case unusable(String, next: String)
    }

    /// The tables of a store.
    package enum Tables: Sendable {
        /// There are none; a server makes them when it starts.
        case missing
        /// They are of an older version; a server brings them up to date when it starts.
        case older
        /// They are as this program wants them.
        case current
    }

    private static let databaseNext = "Mend the address or the database; docs/postgresql.md tells what it needs."

    /// Looks whether a PostgreSQL database can hold the store, and changes nothing.
    ///
    /// - Parameters:
    ///   - address: `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`.
    ///   - triesChanges: Whether a record is tried in tables of this version, and taken back, as a server needs the right.
    /// - Returns: What was found, in words without secrets.
    package static func inspect(postgreSQL address: String, triesChanges: Bool = false) async -> Inspection {
        let logger = Logger(label: "fleetpass") { _ in SwiftLogNoOpLogHandler() }
        do {
            let pool = PostgreSQLPool(try PostgreSQLAddress(address), connections: 1, logger: logger)
            let result: Result<(state: PostgreSQLSchema.State, isReadOnly: Bool), any Error>
            do {
                let found = try await pool.run { session in
                    (try TokenServerSchema.postgreSQL.state(session), try Self.isReadOnly(session))
                }
                result = .success(found)
            } catch {
                result = .failure(error)
            }
            await pool.close()
            let found = try result.get()
            if triesChanges, found.isReadOnly {
                return .unreachable(
                    "\(try PostgreSQLAddress(address)) takes no changes, as it is a standby or set to be read only.",
                    next: "Name the primary, or add target_session_attrs=read-write to an address that names several.")
            }
            switch found.state {
            case .missing: return .usable(.missing)
            case .behind: return .usable(.older)
            case .current:
                if triesChanges {
                    let database = PostgreSQLTokenDatabase(
                        try PostgreSQLAddress(address), connections: 1, tablesMadeBy: .another, logger: logger)
                    defer { database.close() }
                    try await database.probe(commits: false)
                }
                return .usable(.current)
            }
        } catch let error as PostgreSQLError {
            guard error.isOutage else { return .unusable(error.message, next: Self.databaseNext) }
            return .unreachable(
                error.message, next: "Check that the database runs, and the host and port of its address from here.")
        } catch {
            return .unusable("\(error)", next: Self.databaseNext)
        }
    }

    private static func isReadOnly(_ session: PostgreSQLSession) throws(PostgreSQLError) -> Bool {
        let isReadOnly = "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean"
        return try session.query(.once(isReadOnly)).first?.bool(0) ?? false
    }

    /// Fails where a database does not answer.
    ///
    /// - Parameter address: `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/storeUnreachable``.
    static func checkAnswer(of address: String) async throws(TokenServerError) {
        do throws(PostgreSQLError) {
            try await PostgreSQLPool.checkAnswer(of: address)
        } catch {
            throw TokenServerError(code: .storeUnreachable, message: "the store: \(error.message)")
        }
    }

    /// Looks whether a file can be used as the store, and changes nothing.
    ///
    /// - Parameter path: The file, which exists.
    /// - Returns: What was found.
    package static func inspect(file path: String) -> Inspection {
        do {
            switch try SQLiteTokenDatabase.contents(of: path) {
            case .nothing: return .usable(.missing)
            case .archive:
                return .unusable(
                    "\(path) is an archive of the audit, which is only read.",
                    next: "Put back the store that it was moved from, or name that.")
            case .halfWritten:
                return .unusable(
                    "The store \(path) was left half written by a program that was killed.",
                    next: "Start its server, which mends it.")
            case .others:
                return .unusable(
                    "\(path) is no store of a token server.",
                    next: "Put back a backup of the store, or name the token-server.sqlite of a data folder.")
            case .store: break
            }
            let queue = try SQLiteFile.reader(of: path)
            defer { try? queue.close() }
            return try queue.read { database in
                let migrator = TokenServerSchema.migrator
                guard try !migrator.hasBeenSuperseded(database) else {
                    return .unusable(
                        "The store \(path) was written by another program or a newer version.",
                        next: "Run that version, or name the token server's own store.")
                }
                return .usable(try migrator.hasCompletedMigrations(database) ? .current : .older)
            }
        } catch {
            let reason = (error as? DatabaseError)?.reason ?? "\(error)"
            return .unusable(
                "The token server's store \(path) cannot be read: \(reason).",
                next: "Mend the file's permissions; where it is damaged, put back a backup of it.")
        }
    }
}
