// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import GRDB
import SwiftProtobuf

/// The statements of the SQLite store; all collections have tables of one shape.
struct SQLiteQuery {
    let sql: String
    let arguments: StatementArguments

    /// The resources that a scan looks through.
    init(_ scan: StoreScan, _ collection: StoreCollection, _ provider: ProviderID) {
        var sql = "SELECT id, message FROM \(collection.rawValue) WHERE provider = ?"
        var arguments: StatementArguments = [provider.value]
        func restrict(_ condition: String, _ values: StatementArguments = []) {
            sql += " AND \(condition)"
            arguments += values
        }
        if !scan.after.isEmpty { restrict("id > ?", [scan.after]) }
        if scan.isActiveOnly { restrict("active = 1") }
        if let holder = scan.holder { restrict("holder = ?", [holder]) }
        if let tracking = scan.tracking { restrict("tracking = ?", [tracking]) }
        if let since = scan.unchangedSince { restrict("updated <= ?", [since.microseconds]) }
        if let box = scan.box {
            restrict("latitude BETWEEN ? AND ?", [box.south, box.north])
            restrict(
                box.west <= box.east ? "longitude BETWEEN ? AND ?" : "(longitude >= ? OR longitude <= ?)",
                [box.west, box.east]
            )
        }
        if scan.isOrdered { sql += " ORDER BY id" }
        self.sql = sql
        self.arguments = arguments
    }

    static func find(_ collection: StoreCollection) -> String {
        "SELECT message FROM \(collection.rawValue) WHERE provider = ? AND id = ?"
    }

    static func count(_ collection: StoreCollection) -> String {
        "SELECT COUNT(*) FROM \(collection.rawValue) WHERE provider = ?"
    }

    static let providers = StoreCollection.allCases
        .map { "SELECT provider FROM \($0.rawValue)" }.joined(separator: " UNION ")

    static func put(_ collection: StoreCollection) -> String {
        """
        INSERT INTO \(collection.rawValue)
        (provider, id, active, holder, tracking, latitude, longitude, updated, message)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (provider, id) DO UPDATE SET active = excluded.active, holder = excluded.holder,
        tracking = excluded.tracking, latitude = excluded.latitude, longitude = excluded.longitude,
        updated = excluded.updated, message = excluded.message
        """
    }

    static func remove(_ collection: StoreCollection) -> String {
        "DELETE FROM \(collection.rawValue) WHERE provider = ? AND id = ?"
    }
}

extension Google_Protobuf_Timestamp {
    /// Microseconds since 1970.
    var microseconds: Int64 { self.seconds &* 1_000_000 &+ Int64(self.nanos / 1000) }
}
