// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetOperation
import Foundation
import GRDB
import GRDBSQLite
import SwiftProtobuf

/// The tables, how they came to be, and how a file that holds them is opened.
enum SQLiteSchema {
    /// Opens or creates the database and brings its tables up to date.
    ///
    /// - Parameters:
    ///   - path: The file; its folder must exist.
    ///   - logLimit: How many bytes the `-wal` keeps when it is begun anew.
    /// - Returns: The open database, whose commits are durable.
    /// - Throws: ``EngineError`` that names the file and the fix.
    static func open(_ path: String, logLimit: Int64 = Self.logLimit) throws(EngineError) -> DatabasePool {
        do {
            // It tells where people are, so its owner alone may read it; SQLite's side files follow it.
            if !FileManager.default.fileExists(atPath: path) { try? PrivateFile.make(at: path) }
            let pool = try DatabasePool(path: path, configuration: self.configuration)
            // Set after opening: switching to WAL lowers it, and a commit must have reached the disk.
            try pool.writeWithoutTransaction { database in
                try database.execute(sql: "PRAGMA synchronous = FULL; PRAGMA journal_size_limit = \(logLimit)")
            }
            guard try !pool.read(self.migrator.hasBeenSuperseded) else { throw self.tooNew(path) }
            let isCurrent = try pool.read(self.migrator.hasCompletedMigrations)
            try self.migrator.migrate(pool)
            if !isCurrent {
                // Tables belong in the file itself, whatever becomes of what is beside it; nobody is waited for.
                try? pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(PASSIVE)") }
            }
            return pool
        } catch let error as EngineError {
            throw error
        } catch {
            throw self.opening(path, failedWith: error)
        }
    }

    /// Closes the database, with everything in its file as far as no other process is reading it.
    ///
    /// - Parameter pool: The database.
    /// - Throws: An error of SQLite.
    static func close(_ pool: DatabasePool) throws {
        // The pool closes what writes before what only reads, so SQLite would leave changes beside the file, and a copy of
        // the file would lack them. Nobody is waited for.
        try? pool.barrierWriteWithoutTransaction { database in
            try database.execute(sql: "PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE)")
        }
        try pool.close()
    }

    /// Moves what is in the `-wal` to the file and has the next commit begin it anew, once no list looks at it any more.
    ///
    /// - Parameter database: The connection that writes.
    /// - Returns: Whether all lists ended within 5 seconds.
    /// - Throws: An error of SQLite.
    static func beginLogAnew(_ database: Database) throws -> Bool {
        defer { try? database.execute(sql: "PRAGMA busy_timeout = \(1000 * self.busySeconds)") }
        // New lists may take the lock that is waited for, one after the other, although they are in nobody's way: whoever
        // looks anew sees that. Long lists take the last and longest wait.
        for milliseconds in [100, 300, 600, 1000, 3000] {
            try database.execute(sql: "PRAGMA busy_timeout = \(milliseconds)")
            do {
                try database.checkpoint(.restart)
                return true
            } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {}
        }
        return false
    }

    /// A file of a store was moved, removed or replaced while it was open.
    struct FileMoved: Error, CustomStringConvertible {
        /// The store's file.
        let path: String

        var description: String {
            "the store's file \(self.path) was removed or replaced, or the -wal beside it; \(Self.advice)"
        }

        /// What to do about it.
        static let advice = "put that very file back, or restart the engine"
    }

    /// Looks whether the database's file is still where it was opened, and whether the `-wal` was when somebody looked
    /// last.
    ///
    /// SQLite goes on with a file that nobody can reach any more, and what it keeps there is lost.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - files: Its files.
    /// - Throws: ``FileMoved``.
    static func checkPlace(of database: Database, _ files: DatabaseFiles) throws(FileMoved) {
        var hasMoved: CInt = 0
        let code = sqlite3_file_control(database.sqliteConnection, nil, SQLITE_FCNTL_HAS_MOVED, &hasMoved)
        // Who cannot tell, as a file system of its own kind, does not say that it did.
        guard code == SQLITE_OK && hasMoved != 0 || !files.areInPlace else { return }
        throw FileMoved(path: files.path)
    }

    /// How many connections look at once.
    static let readers = 4

    /// How many bytes the `-wal` may grow to before it is begun anew, for which lists are waited for.
    static let logLimit: Int64 = 64 << 20

    /// The pages that each connection keeps: the upper parts of the indexes of a large fleet.
    private static let cacheKibibytes = 16 * 1024

    /// How long is waited for another process.
    private static let busySeconds = 5

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "fleetpass.store"
        configuration.busyMode = .timeout(TimeInterval(self.busySeconds))
        configuration.maximumReaderCount = self.readers
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA cache_size = -\(self.cacheKibibytes)")
        }
        return configuration
    }

    private static func tooNew(_ path: String) -> EngineError {
        EngineError(
            code: .failedPrecondition,
            reason: "STORE_TOO_NEW",
            message: "The store \(path) was written by a newer version; run that version, or restore an older copy."
        )
    }

    /// Tells what an error at the opening was.
    ///
    /// - Parameters:
    ///   - path: The store's file.
    ///   - error: The error.
    ///   - isReadOnly: Whether a file lies on a disk that can only be read.
    /// - Returns: An error with `UNAVAILABLE` where it may pass, and with `FAILED_PRECONDITION` where something is to be
    ///   mended first.
    static func opening(
        _ path: String, failedWith error: any Error, isReadOnly: (String) -> Bool = ReadOnlyDisk.holds
    ) -> EngineError {
        let said = error as? DatabaseError
        return switch said?.extendedResultCode {
        // A full disk has no room for the memory that processes share, either.
        case .SQLITE_FULL?, .SQLITE_IOERR_SHMSIZE?: .storeFull(path)
        case .SQLITE_READONLY?,
            // Where nothing can be made beside a file, it depends on what was left there which of the two is said.
            .SQLITE_CANTOPEN? where isReadOnly(path):
            .storeReadOnly(path)
        case .SQLITE_IOERR?:
            .store(
                "STORE_DISK_FAILED",
                "The store \(path) is on a disk that fails: \(said?.message ?? "\(error)"). Mend that, and retry.")
        case .SQLITE_BUSY?, .SQLITE_LOCKED?:
            .store(
                "STORE_BUSY",
                "The store \(path) is kept busy by another process; nothing in it was changed. Retry when that is "
                    + "through.")
        case .SQLITE_CANTOPEN?, .SQLITE_PERM?:
            EngineError(
                code: .failedPrecondition,
                reason: "STORE_NOT_WRITABLE",
                message: "The store \(path) cannot be opened for writing; create its folder and make both writable."
            )
        case .SQLITE_NOTADB?, .SQLITE_CORRUPT?:
            EngineError(
                code: .failedPrecondition,
                reason: "STORE_NOT_A_DATABASE",
                message: "The file \(path) is not an intact SQLite database; name another file or restore a copy."
            )
        default:
            EngineError(
                code: .failedPrecondition,
                reason: "STORE_UNUSABLE",
                message: "The store \(path) cannot be opened: \(error)."
            )
        }
    }
}

extension EngineError {
    /// A store whose file has no room to grow.
    static func storeFull(_ path: String) -> Self {
        .store(
            "STORE_FULL",
            "The store \(path) has no room on its disk; nothing in it was changed. Make room, and retry.")
    }

    /// A store whose file cannot be written for now.
    static func storeReadOnly(_ path: String) -> Self {
        .store(
            "STORE_READ_ONLY",
            "The store \(path) can only be read; nothing in it was changed. Make it, what is beside it and their disk "
                + "writable for this user, and retry.")
    }
}
