// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Foundation
import GRDB
import SwiftProtobuf

/// What can be looked up in one snapshot of the database.
struct SQLiteReader: EngineReader {
    let database: Database
    /// Keeps what is found as of a version; `nil` within a group of writes, whose tables are ahead.
    var recent: (resources: RecentResources, version: UInt64)?

    func find<Resource: StoredResource>(
        _ id: FleetID<Resource.Kind>, of provider: ProviderID, as type: Resource.Type
    ) throws -> Resource? {
        let statement = try self.database.cachedStatement(sql: SQLiteQuery.texts(type.collection).find)
        let rows = try Row.fetchCursor(statement, arguments: [provider.value, id.value])
        guard let row = try rows.next() else { return nil }
        let (resource, size): (Resource, Int) = try row.withUnsafeData(atIndex: 0) { data in
            (try Resource(serializedBytes: data ?? Data()), data?.count ?? 0)
        }
        if let recent {
            let entry = RecentResources.Entry(resource: resource, size: size)
            recent.resources.keep(entry, ResourceKey(id, provider, type), since: recent.version)
        }
        return resource
    }

    /// Looks at one resource of each table, and at nothing that the connection has in memory.
    func lookAnew() throws {
        try self.database.execute(sql: "PRAGMA shrink_memory")
        for collection in StoreCollection.allCases {
            _ = try Row.fetchOne(self.database, sql: SQLiteQuery.texts(collection).first)
        }
    }

    func scan<Resource: StoredResource>(
        _ scan: StoreScan, of provider: ProviderID, _ body: (_ id: String, Resource) throws -> Bool
    ) throws {
        if scan.box != nil, scan.isOrdered { return try self.scanInOrder(scan, of: provider, body) }
        _ = try self.look(SQLiteQuery(scan, Resource.collection, provider), body)
    }

    /// Runs a query for messages; tells whether more are wanted.
    private func look<Resource: StoredResource>(
        _ query: SQLiteQuery, _ body: (_ id: String, Resource) throws -> Bool
    ) throws -> Bool {
        let statement = try self.database.cachedStatement(sql: query.sql)
        let rows = try Row.fetchCursor(statement, arguments: query.arguments)
        while let row = try rows.next() {
            guard try body(row[0], try row.resource(at: 1)) else { return false }
        }
        return true
    }

    /// How many ids are gone through before it is asked again whether enough of them are in a box.
    static let step = 512

    /// One in how many must be.
    static let enough = 16

    /// Looks through what is in a box, in the order of ids.
    ///
    /// The spatial index finds all that is in the box before the first is known. Where that is much of what there is, a
    /// page is found sooner along the ids.
    private func scanInOrder<Resource: StoredResource>(
        _ scan: StoreScan, of provider: ProviderID, _ body: (_ id: String, Resource) throws -> Bool
    ) throws {
        var scan = scan
        var found = 0
        repeat {
            let statement = try self.database.cachedStatement(sql: SQLiteQuery.texts(Resource.collection).step)
            let ids = try Row.fetchOne(statement, arguments: [provider.value, scan.after, Self.step])
            guard let ids, let last = ids[0] as String? else { return }
            found = 0
            let wantsMore = try self.look(SQLiteQuery(scan, Resource.collection, provider, upTo: last)) {
                (id, resource: Resource) in
                found += 1
                return try body(id, resource)
            }
            guard wantsMore, ids[1] == Self.step else { return }
            scan.after = last
        } while found >= Self.step / Self.enough
        try self.scanPlaces(scan, of: provider, body)
    }

    /// Sorts what is in a box by ids, and reads each message when it is its turn.
    private func scanPlaces<Resource: StoredResource>(
        _ scan: StoreScan, of provider: ProviderID, _ body: (_ id: String, Resource) throws -> Bool
    ) throws {
        let query = SQLiteQuery(scan, Resource.collection, provider, .numbers)
        let statement = try self.database.cachedStatement(sql: query.sql)
        let message = try self.database.cachedStatement(sql: SQLiteQuery.texts(Resource.collection).message)
        let rows = try Row.fetchCursor(statement, arguments: query.arguments)
        while let row = try rows.next() {
            let messages = try Row.fetchCursor(message, arguments: [row[1] as Int64])
            guard let resource: Resource = try messages.next()?.resource(at: 0) else { continue }
            guard try body(row[0], resource) else { return }
        }
    }

    func scanVehicles(
        nearest point: LatLng, within meters: Double, of provider: ProviderID,
        _ body: (_ leastMeters: Double, Vehicle) throws -> Bool
    ) throws {
        var seen: Set<Int64> = []
        // Wider and wider, as the nearest are enough where there are many.
        for radius in [meters / 8, meters / 4, meters / 2, meters] {
            let entries = try self.entries(about: point, within: radius, of: provider)
                .filter { seen.insert($0.number).inserted }
            for entry in entries.sorted(by: { $0.leastMeters < $1.leastMeters }) {
                guard let vehicle = try self.onlineVehicle(entry.number, of: provider) else { continue }
                guard try body(min(entry.leastMeters, radius), vehicle) else { return }
            }
        }
    }

    /// The entries of the spatial index about a point, with a distance that none of the vehicles is nearer than.
    private func entries(
        about point: LatLng, within meters: Double, of provider: ProviderID
    ) throws -> [(number: Int64, leastMeters: Double)] {
        let query = PlaceIndexQuery(GeoBox(around: point, meters: meters), isActiveOnly: true, .vehicles, provider)
        let statement = try self.database.cachedStatement(sql: query.sql)
        let rows = try Row.fetchCursor(statement, arguments: query.arguments)
        var entries: [(number: Int64, leastMeters: Double)] = []
        var middle = LatLng()
        while let row = try rows.next() {
            let (west, east, south, north): (Double, Double, Double, Double) = (row[1], row[2], row[3], row[4])
            middle.latitude = (south + north) / 2
            middle.longitude = (west + east) / 2
            entries.append((row[0], max(0, middle.meters(to: point) - IndexedPlace.reachMeters)))
        }
        return entries
    }

    private func onlineVehicle(_ number: Int64, of provider: ProviderID) throws -> Vehicle? {
        let statement = try self.database.cachedStatement(sql: SQLiteQuery.onlineVehicle)
        let rows = try Row.fetchCursor(statement, arguments: [number, provider.value])
        return try rows.next()?.resource(at: 0)
    }

    func count(_ collection: StoreCollection, of provider: ProviderID) throws -> Int {
        let statement = try self.database.cachedStatement(sql: SQLiteQuery.texts(collection).count)
        return try Int.fetchOne(statement, arguments: [provider.value]) ?? 0
    }

    func count(_ scan: StoreScan, in collection: StoreCollection, of provider: ProviderID) throws -> Int? {
        let query = SQLiteQuery(scan, collection, provider, .count)
        return try Int.fetchOne(self.database.cachedStatement(sql: query.sql), arguments: query.arguments)
    }

    func providers() throws -> [ProviderID] {
        try String.fetchAll(self.database, sql: SQLiteQuery.providers).compactMap { ProviderID($0) }
    }
}

extension Row {
    /// The resource in a column, read where SQLite has it.
    fileprivate func resource<Resource: StoredResource>(at column: Int) throws -> Resource {
        try self.withUnsafeData(atIndex: column) { data in try Resource(serializedBytes: data ?? Data()) }
    }
}
