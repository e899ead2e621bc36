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

    /// What is told of the resources that are found.
    enum Columns: String {
        case messages = "id, message"
        /// The row in place of the message, which sorting would copy.
        case numbers = "id, resource.number"
        /// How many they are.
        case count = "COUNT(*)"
    }

    /// The resources that a scan looks through.
    ///
    /// - Parameters:
    ///   - scan: The scan.
    ///   - collection: The collection.
    ///   - provider: The provider.
    ///   - columns: What is told of each resource.
    ///   - last: The last id, where the index of ids is to be followed whatever the scan's box; `nil` for all ids.
    init(
        _ scan: StoreScan, _ collection: StoreCollection, _ provider: ProviderID, _ columns: Columns = .messages,
        upTo last: String? = nil
    ) {
        var sql = "SELECT \(columns.rawValue) FROM "
        var arguments: StatementArguments = []
        func restrict(_ condition: String, _ values: StatementArguments = []) {
            sql += " AND \(condition)"
            arguments += values
        }
        if let box = scan.box, last == nil {
            let index = PlaceIndexQuery(box, isActiveOnly: scan.isActiveOnly, collection, provider)
            sql +=
                "(\(index.sql)) AS place CROSS JOIN \(collection.rawValue) AS resource"
                + " ON resource.number = place.number"
            arguments = index.arguments
        } else {
            sql += "\(collection.rawValue) AS resource"
        }
        sql += " WHERE provider = ?"
        arguments += [provider.value]
        if let box = scan.box {
            restrict("latitude BETWEEN ? AND ?", [box.south, box.north])
            restrict(
                box.west <= box.east ? "longitude BETWEEN ? AND ?" : "(longitude >= ? OR longitude <= ?)",
                [box.west, box.east]
            )
        }
        if !scan.after.isEmpty { restrict("id > ?", [scan.after]) }
        if let last { restrict("id <= ?", [last]) }
        if scan.isActiveOnly { restrict("active = 1") }
        if let holder = scan.holder { restrict("holder = ?", [holder]) }
        if let tracking = scan.tracking { restrict("tracking = ?", [tracking]) }
        if let since = scan.unchangedSince { restrict("updated <= ?", [since.microseconds]) }
        if scan.isOrdered, columns != .count { sql += " ORDER BY id" }
        self.sql = sql
        self.arguments = arguments
    }

    /// The message of a vehicle that the spatial index found.
    static let onlineVehicle = "SELECT message FROM vehicle WHERE number = ? AND provider = ? AND active = 1"

    static let providers = StoreCollection.allCases
        .map { "SELECT provider FROM \($0.rawValue)" }.joined(separator: " UNION ")
}

/// The entries of a spatial index that may be a provider's and lie in a box.
struct PlaceIndexQuery {
    let sql: String
    let arguments: StatementArguments

    init(_ box: GeoBox, isActiveOnly: Bool, _ collection: StoreCollection, _ provider: ProviderID) {
        // A box across the 180th meridian is two for the index.
        let spans: [(west: Double, east: Double)] =
            box.west <= box.east ? [(box.west, box.east)] : [(box.west, 180), (-180, box.east)]
        let select =
            "SELECT number, west, east, south, north FROM \(collection.rawValue)_place"
            + " WHERE west <= ? AND east >= ? AND south <= ? AND north >= ? AND shelf_least <= ? AND shelf_most >= ?"
        // From middle to middle, as shelves meet at their borders.
        let highest = Double(IndexedPlace.shelf(of: provider.value, isActive: true)) + 0.5
        let lowest = Double(IndexedPlace.shelf(of: provider.value, isActive: isActiveOnly)) + 0.5
        // Two spans that nearly meet both hold the entries between them, which reach into each.
        self.sql = spans.map { _ in select }.joined(separator: " UNION ")
        self.arguments = spans.reduce(into: []) { $0 += [$1.east, $1.west, box.north, box.south, highest, lowest] }
    }
}

extension SQLiteQuery {
    /// The statements on one resource of a collection.
    final class Texts: Sendable {
        /// The message by provider and id.
        let find: String
        /// The number, activity, indexed place and message by provider and id.
        let findRow: String
        /// The time of the last change by provider and id.
        let timeOfChange: String
        /// The message by number.
        let message: String
        /// The message of the first of all.
        let first: String
        /// The last of some ids that come after one, and how many these are, by provider, id and the most there may be.
        let step: String
        let count: String
        let insert: String
        let update: String
        let remove: String
        let putPlace: String
        let removePlace: String

        fileprivate init(_ collection: StoreCollection) {
            let table = collection.rawValue
            let columns = [
                "active", "holder", "tracking", "latitude", "longitude", "indexed_latitude", "indexed_longitude",
                "updated", "message",
            ]
            self.find = "SELECT message FROM \(table) WHERE provider = ? AND id = ?"
            self.findRow = """
                SELECT number, active, indexed_latitude, indexed_longitude, message FROM \(table)
                WHERE provider = ? AND id = ?
                """
            self.timeOfChange = "SELECT updated FROM \(table) WHERE provider = ? AND id = ?"
            self.message = "SELECT message FROM \(table) WHERE number = ?"
            self.first = "SELECT message FROM \(table) ORDER BY provider, id LIMIT 1"
            self.step = """
                SELECT max(id), COUNT(*)
                FROM (SELECT id FROM \(table) WHERE provider = ? AND id > ? ORDER BY id LIMIT ?)
                """
            self.count = "SELECT COUNT(*) FROM \(table) WHERE provider = ?"
            self.insert = """
                INSERT INTO \(table) (\(columns.joined(separator: ", ")), provider, id)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
            let settings = columns.map { $0 == "updated" ? "updated = coalesce(?, updated)" : "\($0) = ?" }
            self.update = "UPDATE \(table) SET \(settings.joined(separator: ", ")) WHERE number = ?"
            self.remove = "DELETE FROM \(table) WHERE number = ?"
            self.putPlace = "INSERT OR REPLACE INTO \(table)_place VALUES (?, ?, ?, ?, ?, ?, ?)"
            self.removePlace = "DELETE FROM \(table)_place WHERE number = ?"
        }
    }

    private static let vehicles = Texts(.vehicles)
    private static let trips = Texts(.trips)
    private static let deliveryVehicles = Texts(.deliveryVehicles)
    private static let tasks = Texts(.tasks)

    /// The statements on a resource of this collection.
    static func texts(_ collection: StoreCollection) -> Texts {
        switch collection {
        case .vehicles: self.vehicles
        case .trips: self.trips
        case .deliveryVehicles: self.deliveryVehicles
        case .tasks: self.tasks
        }
    }
}

extension StoreCollection {
    /// Whether its resources have places, and so a spatial index.
    var hasPlaces: Bool { self == .vehicles || self == .deliveryVehicles }
}

extension Google_Protobuf_Timestamp {
    /// Microseconds since 1970.
    var microseconds: Int64 { self.seconds &* 1_000_000 &+ Int64(self.nanos / 1000) }
}
