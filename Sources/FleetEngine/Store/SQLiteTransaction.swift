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

    func find<Resource: StoredResource>(
        _ id: FleetID<Resource.Kind>, of provider: ProviderID, as type: Resource.Type
    ) throws -> Resource? {
        let statement = try self.database.cachedStatement(sql: SQLiteQuery.find(type.collection))
        let data = try Data.fetchOne(statement, arguments: [provider.value, id.value])
        return try data.map { try Resource(serializedBytes: $0) }
    }

    func scan<Resource: StoredResource>(
        _ scan: StoreScan, of provider: ProviderID, _ body: (_ id: String, Resource) throws -> Bool
    ) throws {
        let query = SQLiteQuery(scan, Resource.collection, provider)
        let statement = try self.database.cachedStatement(sql: query.sql)
        let rows = try Row.fetchCursor(statement, arguments: query.arguments)
        while let row = try rows.next() {
            let resource = try row.withUnsafeData(atIndex: 1) { data in try Resource(serializedBytes: data ?? Data()) }
            guard try body(row[0], resource) else { return }
        }
    }

    func count(_ collection: StoreCollection, of provider: ProviderID) throws -> Int {
        let statement = try self.database.cachedStatement(sql: SQLiteQuery.count(collection))
        return try Int.fetchOne(statement, arguments: [provider.value]) ?? 0
    }

    func providers() throws -> [ProviderID] {
        try String.fetchAll(self.database, sql: SQLiteQuery.providers).compactMap { ProviderID($0) }
    }
}

/// What can be changed within one savepoint of the database.
struct SQLiteTransaction: EngineTransaction {
    let database: Database

    private var reader: SQLiteReader { SQLiteReader(database: self.database) }

    func find<Resource: StoredResource>(
        _ id: FleetID<Resource.Kind>, of provider: ProviderID, as type: Resource.Type
    ) throws -> Resource? {
        try self.reader.find(id, of: provider, as: type)
    }

    func scan<Resource: StoredResource>(
        _ scan: StoreScan, of provider: ProviderID, _ body: (_ id: String, Resource) throws -> Bool
    ) throws {
        try self.reader.scan(scan, of: provider, body)
    }

    func count(_ collection: StoreCollection, of provider: ProviderID) throws -> Int {
        try self.reader.count(collection, of: provider)
    }

    func providers() throws -> [ProviderID] { try self.reader.providers() }

    func put<Resource: StoredResource>(
        _ resource: Resource, _ id: FleetID<Resource.Kind>, of provider: ProviderID, at now: Google_Protobuf_Timestamp
    ) throws {
        let keys = resource.keys
        let statement = try self.database.cachedStatement(sql: SQLiteQuery.put(Resource.collection))
        try statement.execute(arguments: [
            provider.value, id.value, keys.isActive, keys.holder, keys.tracking, keys.place?.latitude,
            keys.place?.longitude, now.microseconds, try resource.serializedBytes() as Data,
        ])
    }

    func remove<Resource: StoredResource>(
        _ id: FleetID<Resource.Kind>, of provider: ProviderID, as type: Resource.Type
    ) throws {
        let statement = try self.database.cachedStatement(sql: SQLiteQuery.remove(type.collection))
        try statement.execute(arguments: [provider.value, id.value])
    }
}
