// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import GRDB
import GRDBSQLite

/// A SQLite file that is open to be changed, whose commits have reached the disk when they return.
///
/// Other processes may have it open too.
package struct DurableDatabase: Sendable {
    /// The tables are of a newer version, or another program's: there are steps that the migrator does not know.
    package struct Superseded: Error {}

    /// The file, or one that belongs to it, was moved, removed or replaced while it was open.
    package struct FileMoved: Error, CustomStringConvertible {
        /// The file, as it was named.
        package let path: String

        /// What happened, as it follows the file.
        package let event: String

        package var description: String {
            "the store's file \(self.path) \(self.event); put that very file back, or restart what uses it"
        }

        init(_ files: DatabaseFiles) {
            self.path = files.path
            self.event = Self.event(beside: files.endings)
        }

        /// Tells what happened, as it follows the file.
        ///
        /// - Parameter endings: What the names of those beside it end in, two at least.
        /// - Returns: What happened.
        package static func event(beside endings: [String] = DatabaseFiles.endings) -> String {
            let others = endings.dropLast().joined(separator: ", ") + " or " + endings.suffix(1).joined()
            return "was removed or replaced, or the \(others) beside it"
        }
    }

    /// How many bytes the `-wal` keeps when it is begun anew, however long it had grown while somebody looked at it.
    package static let logLimit: Int64 = 64 << 20

    package let pool: DatabasePool
    package let files: DatabaseFiles

    /// Opens a file, which is made where it is missing, and brings its tables up to date.
    ///
    /// - Parameters:
    ///   - path: The file; its folder must exist.
    ///   - configuration: How connections are made, such as `Configuration.patient`.
    ///   - migrator: The steps by which the tables came to be.
    ///   - others: What the names of files end in that its user has beside it, and that are to stay too.
    ///   - logLimit: How many bytes the `-wal` keeps when it is begun anew.
    /// - Throws: ``Superseded``, or an error of SQLite.
    package init(
        _ path: String, configuration: Configuration, migrator: DatabaseMigrator, beside others: [String] = [],
        logLimit: Int64 = Self.logLimit
    ) throws {
        let pool = try DatabasePool(path: path, configuration: configuration)
        // Set after opening: switching to WAL lowers it, and a commit must have reached the disk.
        try pool.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA synchronous = FULL; PRAGMA journal_size_limit = \(logLimit)")
        }
        if try !pool.read(migrator.isComplete) {
            try Self.migrate(pool, by: migrator)
            // Tables belong in the file itself, whatever becomes of what is beside it; nobody is waited for.
            try? pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(PASSIVE)") }
        }
        self.pool = pool
        self.files = DatabaseFiles(of: path, and: others)
    }

    /// Brings the tables up to date, beside other processes that may do so too.
    private static func migrate(_ pool: DatabasePool, by migrator: DatabaseMigrator) throws {
        while true {
            let before = try pool.read(migrator.appliedIdentifiers)
            do {
                return try migrator.migrate(pool)
            } catch {
                // A step that another process has made meanwhile fails here, and the next may be due.
                guard try pool.read(migrator.appliedIdentifiers) != before else { throw error }
            }
        }
    }

    /// Closes the file, with everything in it as far as no other process is reading it.
    ///
    /// - Throws: An error of SQLite.
    package func close() throws {
        let isIndexedAnew = self.files.isIndexedAnew
        self.files.end()
        // The pool closes what writes before what only reads, so SQLite would leave changes beside the file, and a copy of
        // the file would lack them. Nobody is waited for. Where others have a `-shm` of their own, what they wrote would be
        // lost by it; whoever opens the file next finds it beside the file.
        if !isIndexedAnew {
            try? self.pool.barrierWriteWithoutTransaction { database in
                try database.execute(sql: "PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE)")
            }
        }
        try self.pool.close()
    }

    /// Looks whether the file and those beside it are the ones that were opened, which takes some 30 microseconds, or as
    /// long as the disk does.
    ///
    /// - Throws: ``FileMoved``.
    package func look() async throws(FileMoved) {
        guard await self.files.look() else { throw FileMoved(self.files) }
    }

    /// Looks within a transaction whether the file is still where it was opened, and whether those beside it were when
    /// somebody looked last.
    ///
    /// SQLite goes on with a file that nobody can reach any more, and what it keeps there is lost.
    ///
    /// - Parameter database: A connection to the file.
    /// - Throws: ``FileMoved``.
    package func checkPlace(of database: Database) throws(FileMoved) {
        var hasMoved: CInt = 0
        let code = sqlite3_file_control(database.sqliteConnection, nil, SQLITE_FCNTL_HAS_MOVED, &hasMoved)
        // Who cannot tell, as a file system of its own kind, does not say that it did.
        guard code == SQLITE_OK && hasMoved != 0 || !self.files.areInPlace else { return }
        throw FileMoved(self.files)
    }
}

extension DatabaseMigrator {
    /// Looks whether tables are up to date.
    ///
    /// - Parameter database: A connection to the file.
    /// - Returns: Whether they are; those of an older version are not.
    /// - Throws: ``DurableDatabase/Superseded``, or an error of SQLite.
    package func isComplete(_ database: Database) throws -> Bool {
        guard try !self.hasBeenSuperseded(database) else { throw DurableDatabase.Superseded() }
        return try self.hasCompletedMigrations(database)
    }
}
