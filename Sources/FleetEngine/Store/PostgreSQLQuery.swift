// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetPostgreSQL
import FleetTokens

/// The statements of the PostgreSQL store.
///
/// A row's place is one where the resource was, at most ``IndexedPlace/reach`` from where it is.
enum PostgreSQLQuery {
    /// The resources that a scan looks through; with bounds, those up to an id, and as many as a limit says.
    static func scan(
        _ scan: StoreScan, _ collection: StoreCollection, _ provider: ProviderID,
        within bounds: (last: String, limit: Int)? = nil
    ) -> PostgreSQLStatement {
        var sql = "SELECT id, message FROM \(collection.rawValue) WHERE provider = $1"
        var values: [PostgreSQLValue] = [.text(provider.value)]
        /// Adds a condition, with `?` for its value.
        func restrict(_ condition: String, _ value: PostgreSQLValue) {
            values.append(value)
            sql += " AND " + condition.replacing("?", with: "$\(values.count)")
        }
        if !scan.after.isEmpty { restrict("id > ?", .text(scan.after)) }
        if let bounds { restrict("id <= ?", .text(bounds.last)) }
        if scan.isActiveOnly { sql += " AND active" }
        if let holder = scan.holder { restrict("holder = ?", .text(holder)) }
        if let tracking = scan.tracking { restrict("tracking = ?", .text(tracking)) }
        if let since = scan.unchangedSince { restrict("updated <= ?", .integer(since.microseconds)) }
        if let box = scan.box {
            // What the column says of a place may be off by the reach; the resource itself decides.
            let (west, east) = box.west <= box.east ? (box.west, box.east) : (-180, 180)
            let first = values.count + 1
            values += [
                .double(west - IndexedPlace.reach), .double(box.south - IndexedPlace.reach),
                .double(east + IndexedPlace.reach), .double(box.north + IndexedPlace.reach),
            ]
            sql += " AND place <@ box(point($\(first), $\(first + 1)), point($\(first + 2), $\(first + 3)))"
        }
        if scan.isOrdered { sql += " ORDER BY id" }
        if let bounds { sql += " LIMIT \(bounds.limit)" }
        return PostgreSQLStatement(sql, values)
    }

    /// The last of some ids that come after one; `NULL` where there is none.
    static func last(
        of count: Int, after id: String, _ collection: StoreCollection, _ provider: ProviderID
    ) -> PostgreSQLStatement {
        PostgreSQLStatement(
            """
            SELECT max(id) FROM (
                SELECT id FROM \(collection.rawValue) WHERE provider = $1 AND id > $2 ORDER BY id LIMIT \(count)
            ) AS next
            """, [.text(provider.value), .text(id)])
    }

    static func find(_ key: ResourceKey) -> PostgreSQLStatement {
        PostgreSQLStatement(
            "SELECT message FROM \(key.collection.rawValue) WHERE provider = $1 AND id = $2",
            [.text(key.provider), .text(key.id)])
    }

    static func count(_ collection: StoreCollection, _ provider: ProviderID) -> PostgreSQLStatement {
        PostgreSQLStatement(
            "SELECT count(*) FROM \(collection.rawValue) WHERE provider = $1", [.text(provider.value)])
    }

    /// The rows of those keys that are there.
    static func find(_ keys: [ResourceKey], in collection: StoreCollection) -> PostgreSQLStatement {
        Self.select("r.provider, r.id, r.message", keys, in: collection)
    }

    /// When the rows of those keys that are there were last put.
    static func timesOfChange(of keys: [ResourceKey], in collection: StoreCollection) -> PostgreSQLStatement {
        Self.select("r.provider, r.id, r.updated", keys, in: collection)
    }

    /// Which keys are there, whoever holds their rows.
    static func present(_ keys: [ResourceKey], in collection: StoreCollection) -> PostgreSQLStatement {
        Self.select("r.provider, r.id", keys, in: collection)
    }

    /// What a statement does about a row that another transaction holds.
    enum HeldRow: String {
        case isAwaited = ""
        case fails = "NOWAIT"
        case isLeftOut = "SKIP LOCKED"
    }

    /// Locks rows and reads them; the rows are locked in the order of their keys.
    static func lock(
        _ keys: [ResourceKey], in collection: StoreCollection, held: HeldRow
    ) -> PostgreSQLStatement {
        var statement = Self.find(keys, in: collection)
        statement.sql += " ORDER BY r.provider, r.id FOR UPDATE OF r \(held.rawValue)"
        return statement
    }

    private static func select(
        _ columns: String, _ keys: [ResourceKey], in collection: StoreCollection
    ) -> PostgreSQLStatement {
        PostgreSQLStatement(
            """
            SELECT \(columns) FROM unnest($1, $2) AS k (provider, id)
            JOIN \(collection.rawValue) AS r ON r.provider = k.provider AND r.id = k.id
            """, [.texts(keys.map(\.provider)), .texts(keys.map(\.id))])
    }

    /// Limits how long a transaction waits for whatever others hold, until its end.
    static func wait(atMost limit: Duration) -> PostgreSQLStatement {
        let milliseconds = Int64(limit / .milliseconds(1))
        return PostgreSQLStatement("SELECT set_config('lock_timeout', $1, true)", [.text("\(milliseconds)ms")])
    }

    /// The time in milliseconds since 1970, and whether changes are taken.
    static let status = PostgreSQLStatement(
        """
        SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint,
        NOT (pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean)
        """)

    /// Statements that fail where a table is missing, or may not be read.
    static let looks = StoreCollection.allCases.map { PostgreSQLStatement("SELECT 1 FROM \($0.rawValue) LIMIT 0") }

    /// Every kind of change to every table, of which nothing is left; no resource has such a key.
    static var probe: [PostgreSQLStatement] {
        StoreCollection.allCases.flatMap { collection -> [PostgreSQLStatement] in
            let key = ResourceKey(collection: collection, provider: "", id: "")
            // About as large as a vehicle, as a disk that is full may have room for less.
            let row = ResourceRow(
                key: key, keys: StoreKeys(), updated: 0, message: [UInt8](repeating: 0, count: 1024))
            return [
                Self.insert([row], into: collection, replaces: false),
                Self.lock([key], in: collection, held: .isAwaited), Self.update([row], in: collection),
                Self.remove([key], from: collection),
            ]
        }
    }

    /// Every provider, each found by one look into the index, however many resources the others have.
    static let providers = PostgreSQLStatement(
        StoreCollection.allCases.map { collection in
            let next = "SELECT min(provider) AS provider FROM \(collection.rawValue)"
            return """
                (WITH RECURSIVE found AS (
                    \(next) UNION ALL
                    SELECT (\(next) WHERE provider > found.provider) FROM found WHERE found.provider IS NOT NULL
                ) SELECT provider FROM found WHERE provider IS NOT NULL)
                """
        }.joined(separator: " UNION "))

    static func remove(_ keys: [ResourceKey], from collection: StoreCollection) -> PostgreSQLStatement {
        PostgreSQLStatement(
            """
            DELETE FROM \(collection.rawValue) AS r USING unnest($1, $2) AS k (provider, id)
            WHERE r.provider = k.provider AND r.id = k.id
            """, [.texts(keys.map(\.provider)), .texts(keys.map(\.id))])
    }

    /// Adds rows; one that is there fails the statement, unless it is to be replaced.
    static func insert(
        _ rows: [ResourceRow], into collection: StoreCollection, replaces: Bool
    ) -> PostgreSQLStatement {
        PostgreSQLStatement(
            """
            INSERT INTO \(collection.rawValue) AS r (provider, id, active, holder, tracking, place, updated, message)
            SELECT provider, id, active, holder, tracking, point(longitude, latitude), updated, message FROM \(Self.rows)
            \(replaces ? Self.replacement : "")
            """, Self.values(rows))
    }

    private static let replacement = """
        ON CONFLICT (provider, id) DO UPDATE SET active = excluded.active, holder = excluded.holder,
        tracking = excluded.tracking, place = \(Self.place("excluded.place")), updated = excluded.updated,
        message = excluded.message
        """

    /// A row's new place: the former one where the new one is near it, so that the spatial index need not change.
    private static func place(_ new: String) -> String {
        """
        CASE WHEN abs(r.place[0] - (\(new))[0]) <= \(IndexedPlace.reach)
        AND abs(r.place[1] - (\(new))[1]) <= \(IndexedPlace.reach) THEN r.place ELSE \(new) END
        """
    }

    static func update(_ rows: [ResourceRow], in collection: StoreCollection) -> PostgreSQLStatement {
        PostgreSQLStatement(
            """
            UPDATE \(collection.rawValue) AS r SET active = n.active, holder = n.holder, tracking = n.tracking,
            place = \(Self.place("point(n.longitude, n.latitude)")), updated = coalesce(n.updated, r.updated),
            message = n.message
            FROM \(Self.rows) WHERE r.provider = n.provider AND r.id = n.id
            """, Self.values(rows))
    }

    private static let rows = """
        unnest($1, $2, $3, $4, $5, $6, $7, $8, $9)
        AS n (provider, id, active, holder, tracking, latitude, longitude, updated, message)
        """

    private static func values(_ rows: [ResourceRow]) -> [PostgreSQLValue] {
        [
            .texts(rows.map(\.key.provider)), .texts(rows.map(\.key.id)), .bools(rows.map(\.keys.isActive)),
            .texts(rows.map(\.keys.holder)), .texts(rows.map(\.keys.tracking)),
            .doubles(rows.map { $0.keys.place?.latitude }), .doubles(rows.map { $0.keys.place?.longitude }),
            .integers(rows.map(\.updated)), .byteArrays(rows.map(\.message)),
        ]
    }
}

/// A resource as its table keeps it.
struct ResourceRow: Sendable {
    let key: ResourceKey
    let keys: StoreKeys
    /// `nil` where the table keeps what it has.
    let updated: Int64?
    let message: [UInt8]
}
