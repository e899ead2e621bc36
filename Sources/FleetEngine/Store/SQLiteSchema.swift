// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetOperation
import FleetSQLite
import Foundation
import GRDB
import SwiftProtobuf

/// The tables, how they came to be, and how a file that holds them is opened.
enum SQLiteSchema {
    /// Opens or creates the database and brings its tables up to date.
    ///
    /// - Parameters:
    ///   - path: The file; its folder must exist.
    ///   - logLimit: How many bytes the `-wal` keeps when it is begun anew.
    /// - Returns: The open database.
    /// - Throws: ``EngineError`` that names the file and the fix.
    static func open(
        _ path: String, logLimit: Int64 = DurableDatabase.logLimit
    ) throws(EngineError) -> DurableDatabase {
        do {
            // It tells where people are, so its owner alone may read it; SQLite's side files follow it.
            if !FileManager.default.fileExists(atPath: path) { try? PrivateFile.make(at: path) }
            guard try SQLiteFile.look(at: path, isMended: true, self.isUsable) else { throw self.foreign(path) }
            return try DurableDatabase(
                path, configuration: self.configuration, migrator: self.migrator, beside: [StoreFileLock.ending],
                logLimit: logLimit)
        } catch let error as EngineError {
            throw error
        } catch is DurableDatabase.Superseded {
            throw self.tooNew(path)
        } catch {
            throw self.opening(path, failedWith: error)
        }
    }

    /// Whether a database holds a store of any version, or nothing.
    private static func isUsable(_ database: Database) throws -> Bool {
        try !self.migrator.appliedMigrations(database).isEmpty || self.migrator.findsNothing(in: database)
    }

    /// Moves what is in the `-wal` to the file and has the next commit begin it anew, once no list looks at it any more.
    ///
    /// - Parameter database: The connection that writes.
    /// - Returns: Whether all lists ended within 5 seconds.
    /// - Throws: An error of SQLite.
    static func beginLogAnew(_ database: Database) throws -> Bool {
        defer { try? database.setPatience() }
        // New lists may take the lock that is waited for, one after the other, although they are in nobody's way: whoever
        // looks anew sees that. Long lists take the last and longest wait.
        for milliseconds in [100, 300, 600, 1000, 3000] {
            try database.setPatience(milliseconds: milliseconds)
            do {
                try database.checkpoint(.restart)
                return true
            } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {}
        }
        return false
    }

    /// How many connections look at once.
    static let readers = 4

    /// The pages that each connection keeps: the upper parts of the indexes of a large fleet.
    private static let cacheKibibytes = 16 * 1024

    private static var configuration: Configuration {
        var configuration = Configuration.patient
        configuration.label = "fleetpass.store"
        configuration.maximumReaderCount = self.readers
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA cache_size = -\(self.cacheKibibytes)")
        }
        return configuration
    }

    private static func foreign(_ path: String) -> EngineError {
        EngineError(
            code: .failedPrecondition,
            reason: "STORE_FOREIGN",
            message: "The file \(path) holds what another program keeps, and is left as it is; move it away, and a new "
                + "one is made, or name another."
        )
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
    /// - Returns: An error with `UNAVAILABLE` where it may pass, and with `FAILED_PRECONDITION` where something is to be
    ///   mended first.
    static func opening(_ path: String, failedWith error: any Error) -> EngineError {
        let trouble = (error as? DatabaseError).map { SQLiteTrouble($0, of: path) } ?? .other
        if let passing = EngineError(passing: trouble, of: path) { return passing }
        let (reason, message) =
            switch trouble {
            case .notOpened:
                (
                    "STORE_NOT_WRITABLE",
                    "The store \(path) cannot be opened for writing; create its folder and make both writable."
                )
            case .damaged:
                (
                    "STORE_NOT_A_DATABASE",
                    "The file \(path) is not an intact SQLite database; name another file or restore a copy."
                )
            default: ("STORE_UNUSABLE", "The store \(path) cannot be opened: \(error).")
            }
        return EngineError(code: .failedPrecondition, reason: reason, message: message)
    }
}

extension EngineError {
    /// A store that cannot be opened for now; `nil` where something is to be mended first.
    init?(passing trouble: SQLiteTrouble, of path: String) {
        guard let words = trouble.passing else { return nil }
        let reason =
            switch trouble {
            case .full: "STORE_FULL"
            case .readOnly: "STORE_READ_ONLY"
            case .busy: "STORE_BUSY"
            default: "STORE_DISK_FAILED"
            }
        self = .store(reason, "The store \(path) \(words)")
    }
}
