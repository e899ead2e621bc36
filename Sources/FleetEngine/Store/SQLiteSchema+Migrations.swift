// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import GRDB
import SwiftProtobuf

extension SQLiteSchema {
    /// How the tables came to be, one step for each released version that changed them.
    static var migrator: DatabaseMigrator {
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
        migrator.registerMigration("3 spatial index", migrate: self.indexPlaces)
        migrator.registerMigration("4 providers in the spatial index", migrate: self.shelvePlaces)
        return migrator
    }

    /// Gives every row a number that lasts, which the spatial index needs, and moves the places there.
    ///
    /// Activity is the index's third dimension, from 0 to 1 or from 1 to 2: without an extent, all boxes would have
    /// the volume 0, by which the index could not tell a good arrangement from a bad one.
    private static func indexPlaces(_ database: Database) throws {
        let columns = "provider, id, active, holder, tracking, latitude, longitude, updated, message"
        for table in StoreCollection.allCases.map(\.rawValue) {
            try database.execute(
                sql: """
                    ALTER TABLE \(table) RENAME TO former_\(table);
                    CREATE TABLE \(table) (
                        number INTEGER PRIMARY KEY,
                        provider TEXT NOT NULL,
                        id TEXT NOT NULL,
                        active INTEGER NOT NULL,
                        holder TEXT,
                        tracking TEXT,
                        latitude REAL,
                        longitude REAL,
                        indexed_latitude REAL,
                        indexed_longitude REAL,
                        updated INTEGER NOT NULL,
                        message BLOB NOT NULL,
                        UNIQUE (provider, id)
                    ) STRICT;
                    INSERT INTO \(table) (\(columns), indexed_latitude, indexed_longitude)
                        SELECT \(columns), latitude, longitude FROM former_\(table);
                    DROP TABLE former_\(table);
                    """
            )
        }
        for table in StoreCollection.allCases.filter(\.hasPlaces).map(\.rawValue) {
            try database.execute(
                sql: """
                    CREATE VIRTUAL TABLE \(table)_place
                        USING rtree(number, west, east, south, north, active_least, active_most);
                    INSERT INTO \(table)_place
                        SELECT number, longitude - :reach, longitude + :reach, latitude - :reach, latitude + :reach,
                        active, active + 1 FROM \(table) WHERE latitude IS NOT NULL;
                    """,
                arguments: ["reach": IndexedPlace.reach]
            )
        }
        try database.execute(
            sql: """
                CREATE INDEX trip_active ON trip (provider, id) WHERE active = 1;
                CREATE INDEX trip_holder ON trip (provider, holder, id) WHERE holder IS NOT NULL;
                CREATE INDEX task_active ON task (provider, id) WHERE active = 1;
                CREATE INDEX task_holder ON task (provider, holder, id) WHERE holder IS NOT NULL;
                CREATE INDEX task_tracking ON task (provider, tracking, id) WHERE tracking IS NOT NULL;
                """
        )
    }

    /// Has the third dimension of the spatial index tell providers apart, too, so that none searches among the others'.
    private static func shelvePlaces(_ database: Database) throws {
        for table in StoreCollection.allCases.filter(\.hasPlaces).map(\.rawValue) {
            try database.execute(
                sql: """
                    DROP TABLE \(table)_place;
                    CREATE VIRTUAL TABLE \(table)_place
                        USING rtree(number, west, east, south, north, shelf_least, shelf_most);
                    """
            )
            for provider in try String.fetchAll(database, sql: "SELECT DISTINCT provider FROM \(table)") {
                try database.execute(
                    sql: """
                        INSERT INTO \(table)_place
                            SELECT number, indexed_longitude - :reach, indexed_longitude + :reach,
                            indexed_latitude - :reach, indexed_latitude + :reach, :shelf + active, :shelf + active + 1
                            FROM \(table) WHERE provider = :provider AND indexed_latitude IS NOT NULL;
                        """,
                    arguments: [
                        "reach": IndexedPlace.reach, "shelf": IndexedPlace.shelf(of: provider, isActive: false),
                        "provider": provider,
                    ]
                )
            }
        }
    }

    /// Fills in what the first version of the tables did not tell of trips.
    private static func readTripKeys(_ database: Database) throws {
        let update = try database.makeStatement(sql: "UPDATE trip SET active = ?, holder = ? WHERE rowid = ?")
        for row in try Row.fetchAll(database, sql: "SELECT rowid, message FROM trip") {
            let keys = try Trip(serializedBytes: row[1] as Data).keys
            try update.execute(arguments: [keys.isActive, keys.holder, row[0] as Int64])
        }
    }
}
