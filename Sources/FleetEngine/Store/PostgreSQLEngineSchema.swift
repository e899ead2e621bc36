// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetPostgreSQL

/// The engine's tables in PostgreSQL, all of one shape, and the locks that its nodes share.
enum PostgreSQLEngineSchema {
    static let schema = PostgreSQLSchema(part: "engine", steps: [Self.tables])

    /// Held by every group in common, and alone by a body that looks for what no row stands for; the bytes of "fleeteng".
    static let writersLock: Int64 = 7_380_385_375_772_307_047

    private static let tables: [String] =
        StoreCollection.allCases.map { collection in
            """
            CREATE TABLE \(collection.rawValue) (
                provider text COLLATE "C" NOT NULL,
                id text COLLATE "C" NOT NULL,
                active boolean NOT NULL,
                holder text COLLATE "C",
                tracking text COLLATE "C",
                place point,
                updated bigint NOT NULL,
                message bytea NOT NULL,
                PRIMARY KEY (provider, id)
            ) WITH (fillfactor = 80)
            """
        } + [
            // Lists run over (provider, id); an index serves each other way in. A report of a location touches none but
            // that of the place, and that only when the place is far from the one it has.
            "CREATE INDEX vehicle_place ON vehicle USING gist (place)",
            "CREATE INDEX delivery_vehicle_place ON delivery_vehicle USING gist (place)",
            "CREATE INDEX trip_active ON trip (provider, id) WHERE active",
            "CREATE INDEX trip_holder ON trip (provider, holder, id) WHERE holder IS NOT NULL",
            "CREATE INDEX task_active ON task (provider, id) WHERE active",
            "CREATE INDEX task_holder ON task (provider, holder, id) WHERE holder IS NOT NULL",
            "CREATE INDEX task_tracking ON task (provider, tracking, id) WHERE tracking IS NOT NULL",
        ]
}
