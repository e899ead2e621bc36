// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import GRDB
import SwiftProtobuf

/// The tables, how they came to be, and how a file that holds them is opened.
enum SQLiteSchema {
    /// Opens or creates the database and brings its tables up to date.
    ///
    /// - Parameter path: The file; its folder must exist.
    /// - Returns: The open database, whose commits are durable.
    /// - Throws: ``EngineError`` that names the file and the fix.
    static func open(_ path: String) throws(EngineError) -> DatabasePool {
        do {
            self.createPrivateFile(path)
            let pool = try DatabasePool(path: path, configuration: self.configuration)
            // Set after opening: switching to WAL lowers it, and a commit must have reached the disk.
            try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
            guard try !pool.read(self.migrator.hasBeenSuperseded) else { throw self.tooNew(path) }
            try self.migrator.migrate(pool)
            return pool
        } catch let error as EngineError {
            throw error
        } catch {
            throw self.opening(path, failedWith: error)
        }
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "fleetpass.store"
        configuration.busyMode = .timeout(5)
        return configuration
    }

    private static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1 vehicles and trips") { database in
            try database.execute(
                sql: """
                    CREATE TABLE vehicle (
                        provider TEXT NOT NULL,
                        id TEXT NOT NULL,
                        online INTEGER NOT NULL,
                        latitude REAL,
                        longitude REAL,
                        message BLOB NOT NULL,
                        PRIMARY KEY (provider, id)
                    ) STRICT;
                    CREATE INDEX vehicle_online_place ON vehicle (provider, latitude, longitude) WHERE online = 1;
                    CREATE TABLE trip (
                        provider TEXT NOT NULL,
                        id TEXT NOT NULL,
                        message BLOB NOT NULL,
                        PRIMARY KEY (provider, id)
                    ) STRICT;
                    """
            )
        }
        migrator.registerMigration("2 deliveries, lists and retention") { database in
            try database.execute(
                sql: """
                    ALTER TABLE vehicle RENAME TO vehicle_1;
                    ALTER TABLE trip RENAME TO trip_1;
                    DROP INDEX vehicle_online_place;
                    """
            )
            for table in ["vehicle", "trip", "delivery_vehicle", "task"] {
                try database.execute(
                    sql: """
                        CREATE TABLE \(table) (
                            provider TEXT NOT NULL,
                            id TEXT NOT NULL,
                            active INTEGER NOT NULL,
                            holder TEXT,
                            tracking TEXT,
                            latitude REAL,
                            longitude REAL,
                            updated INTEGER NOT NULL,
                            message BLOB NOT NULL,
                            PRIMARY KEY (provider, id)
                        ) STRICT;
                        """
                )
            }
            try database.execute(
                sql: """
                    INSERT INTO vehicle (provider, id, active, latitude, longitude, updated, message)
                        SELECT provider, id, online, latitude, longitude, unixepoch() * 1000000, message
                        FROM vehicle_1;
                    INSERT INTO trip (provider, id, active, updated, message)
                        SELECT provider, id, 0, unixepoch() * 1000000, message FROM trip_1;
                    DROP TABLE vehicle_1;
                    DROP TABLE trip_1;
                    """
            )
            try self.readTripKeys(database)
            // Lists run over (provider, id); an index serves each other way in. A report of a location touches none
            // but that of the place.
            try database.execute(
                sql: """
                    CREATE INDEX vehicle_place ON vehicle (provider, latitude, longitude, active);
                    CREATE INDEX delivery_vehicle_place ON delivery_vehicle (provider, latitude, longitude);
                    CREATE INDEX trip_active ON trip (provider, id) WHERE active = 1;
                    CREATE INDEX trip_holder ON trip (provider, holder, id) WHERE holder IS NOT NULL;
                    CREATE INDEX task_active ON task (provider, id) WHERE active = 1;
                    CREATE INDEX task_holder ON task (provider, holder, id) WHERE holder IS NOT NULL;
                    CREATE INDEX task_tracking ON task (provider, tracking, id) WHERE tracking IS NOT NULL;
                    """
            )
        }
        return migrator
    }

    /// Fills in what the first version of the tables did not tell of trips.
    private static func readTripKeys(_ database: Database) throws {
        let update = try database.makeStatement(sql: "UPDATE trip SET active = ?, holder = ? WHERE rowid = ?")
        for row in try Row.fetchAll(database, sql: "SELECT rowid, message FROM trip") {
            let keys = try Trip(serializedBytes: row[1] as Data).keys
            try update.execute(arguments: [keys.isActive, keys.holder, row[0] as Int64])
        }
    }

    /// Creates the file readable by its owner alone, as it tells where people are; SQLite's side files follow it.
    private static func createPrivateFile(_ path: String) {
        guard !FileManager.default.fileExists(atPath: path) else { return }
        _ = FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
    }

    private static func tooNew(_ path: String) -> EngineError {
        EngineError(
            code: .failedPrecondition,
            reason: "STORE_TOO_NEW",
            message: "The store \(path) was written by a newer version; run that version, or restore an older copy."
        )
    }

    private static func opening(_ path: String, failedWith error: any Error) -> EngineError {
        switch (error as? DatabaseError)?.resultCode {
        case .SQLITE_CANTOPEN?, .SQLITE_READONLY?, .SQLITE_PERM?:
            EngineError(
                code: .unavailable,
                reason: "STORE_NOT_WRITABLE",
                message: "The store \(path) cannot be opened for writing; create its folder and make both writable."
            )
        case .SQLITE_NOTADB?, .SQLITE_CORRUPT?:
            EngineError(
                code: .unavailable,
                reason: "STORE_NOT_A_DATABASE",
                message: "The file \(path) is not an intact SQLite database; name another file or restore a copy."
            )
        case .SQLITE_BUSY?, .SQLITE_LOCKED?:
            EngineError(
                code: .unavailable,
                reason: "STORE_BUSY",
                message: "The store \(path) is locked by another process; stop that process or name another file."
            )
        default:
            EngineError(
                code: .unavailable,
                reason: "STORE_UNAVAILABLE",
                message: "The store \(path) cannot be opened: \(error)."
            )
        }
    }
}
