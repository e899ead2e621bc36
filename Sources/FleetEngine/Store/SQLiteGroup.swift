// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Foundation
import GRDB
import SwiftProtobuf

/// A group of writes within one transaction of the database.
///
/// What bodies put is kept here and sent once, when all have run: a body that throws leaves nothing to undo, and a
/// resource that several bodies change is written once.
final class SQLiteGroup: ResourceLookup {
    let database: Database
    private let recent: RecentResources
    private let rows: SQLiteRows
    private var changes: [ResourceKey: StoreChange] = [:]
    /// What was sent to the tables last, `nil` where it was removed, or undone with more.
    private(set) var sent: [ResourceKey: RecentResources.Entry?] = [:]
    private var hasSavepoint = false

    /// Begins a group within a transaction of the database.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - recent: The resources that were read or changed lately.
    ///   - rows: The rows that were looked for lately.
    ///   - count: How many resources will be changed, as far as that is known.
    init(_ database: Database, recent: RecentResources, rows: SQLiteRows, expecting count: Int) {
        self.database = database
        self.recent = recent
        self.rows = rows
        self.changes.reserveCapacity(count)
        self.sent.reserveCapacity(count)
    }

    /// Runs a body and takes its changes over, if they are to be kept.
    ///
    /// - Returns: What became of the body.
    /// - Throws: An error that ends the whole group.
    func run(_ write: QueuedWrite) throws -> QueuedWrite.Outcome {
        try self.checkTransaction()
        let transaction = GroupedTransaction(self)
        let outcome = write.run(transaction)
        // It may have ended the transaction, or keep it from being committed.
        if let failure = outcome.failure as? DatabaseError { throw failure }
        try self.endSavepoint(keeping: outcome.isKept)
        if outcome.isKept { self.changes.merge(transaction.changes) { $1.following($0) } }
        return outcome
    }

    /// Sends what was changed to the tables.
    func flush() throws {
        try self.checkTransaction()
        try self.send(self.changes)
        self.changes.removeAll(keepingCapacity: true)
    }

    func change(of key: ResourceKey) -> StoreChange? { self.changes[key] }

    func stored<Resource: StoredResource>(_ key: ResourceKey, as type: Resource.Type) throws -> Resource? {
        // What this group sent is in the tables alone.
        if self.sent[key] == nil, let known = self.recent.find(key)?.resource as? Resource { return known }
        let texts = SQLiteQuery.texts(key.collection)
        let statement = try self.database.cachedStatement(sql: texts.findRow)
        let rows = try Row.fetchCursor(statement, arguments: [key.provider, key.id])
        guard let row = try rows.next() else {
            self.rows[key] = .some(nil)
            return nil
        }
        self.rows[key] = Self.stored(row)
        return try row.withUnsafeData(atIndex: 4) { try Resource(serializedBytes: $0 ?? Data()) }
    }

    func timeOfChange(of key: ResourceKey) throws -> Int64? {
        let statement = try self.database.cachedStatement(sql: SQLiteQuery.texts(key.collection).timeOfChange)
        return try Int64.fetchOne(statement, arguments: [key.provider, key.id])
    }

    /// The tables, with changes that are undone if the body that made them fails.
    func tables(with changes: [ResourceKey: StoreChange]) throws -> (any EngineReader)? {
        try self.flush()
        if !self.hasSavepoint {
            try self.database.execute(sql: "SAVEPOINT body")
            self.hasSavepoint = true
        }
        try self.send(changes)
        return SQLiteReader(database: self.database)
    }

    private func endSavepoint(keeping isKept: Bool) throws {
        guard self.hasSavepoint else { return }
        self.hasSavepoint = false
        try self.checkTransaction()
        if !isKept {
            try self.database.execute(sql: "ROLLBACK TO body")
            self.rows.forget()
            self.sent = self.sent.mapValues { _ in nil }
        }
        try self.database.execute(sql: "RELEASE body")
    }

    /// A full disk ends the whole transaction from below; what comes later must not start one of its own.
    private func checkTransaction() throws {
        guard self.database.isInsideTransaction else { throw DatabaseError(resultCode: .SQLITE_ABORT) }
    }
}

// MARK: - Sending

extension SQLiteGroup {
    private func send(_ changes: [ResourceKey: StoreChange]) throws {
        for (key, change) in changes {
            self.sent[key] = .some(nil)
            if let (resource, updated) = change.put {
                let former = try self.row(of: key)
                let (message, lastingBytes) = try Self.message(of: change, resource, after: former?.lastingBytes)
                try self.put(resource.keys, message, key, updated, former, lastingBytes)
                self.sent[key] = RecentResources.Entry(resource: resource, size: message.count)
            } else {
                try self.remove(key)
            }
        }
    }

    /// The binary form of a resource, and what spares writing all of it in a report that follows.
    private static func message(
        of change: StoreChange, _ resource: any StoredResource, after known: LastingBytes?
    ) throws -> (Data, LastingBytes?) {
        if case .report(let vehicle, _) = change, var known {
            let message = try known.serialized(vehicle)
            return (message, known)
        }
        let message: Data = try resource.serializedBytes()
        let isShort = message.count <= LastingBytes.maximumCount
        return (message, isShort && resource is Vehicle ? LastingBytes() : nil)
    }

    /// Writes a row.
    private func put(
        _ keys: StoreKeys, _ message: Data, _ key: ResourceKey, _ updated: Int64?, _ former: SQLiteRow?,
        _ lastingBytes: LastingBytes?
    ) throws {
        let texts = SQLiteQuery.texts(key.collection)
        let place = IndexedPlace(keys, after: former?.place)
        let values: StatementArguments = [
            keys.isActive, keys.holder, keys.tracking, keys.place?.latitude, keys.place?.longitude, place?.latitude,
            place?.longitude, updated, message,
        ]
        let number: Int64
        if let former {
            number = former.number
            try self.execute(texts.update, values + [number])
        } else {
            try self.execute(texts.insert, values + [key.provider, key.id])
            number = self.database.lastInsertedRowID
        }
        self.rows[key] = SQLiteRow(number: number, place: place, lastingBytes: lastingBytes)
        guard key.collection.hasPlaces, place != former?.place else { return }
        if let place {
            let shelf = IndexedPlace.shelf(of: key.provider, isActive: place.isActive)
            try self.execute(
                texts.putPlace,
                [
                    number, place.longitude - IndexedPlace.reach, place.longitude + IndexedPlace.reach,
                    place.latitude - IndexedPlace.reach, place.latitude + IndexedPlace.reach, shelf, shelf + 1,
                ])
        } else {
            try self.execute(texts.removePlace, [number])
        }
    }

    private func remove(_ key: ResourceKey) throws {
        guard let row = try self.row(of: key) else { return }
        let texts = SQLiteQuery.texts(key.collection)
        try self.execute(texts.remove, [row.number])
        if key.collection.hasPlaces { try self.execute(texts.removePlace, [row.number]) }
        self.rows[key] = .some(nil)
    }

    private func row(of key: ResourceKey) throws -> SQLiteRow? {
        if let known = self.rows[key] { return known }
        let statement = try self.database.cachedStatement(sql: SQLiteQuery.texts(key.collection).findRow)
        let rows = try Row.fetchCursor(statement, arguments: [key.provider, key.id])
        return try rows.next().map(Self.stored)
    }

    private func execute(_ sql: String, _ arguments: StatementArguments) throws {
        let statement = try self.database.cachedStatement(sql: sql)
        // To execute it with the arguments would spare a copy of the message, by way of a closure for each of them.
        try statement.setArguments(arguments)
        try statement.execute()
    }

    private static func stored(_ row: Row) -> SQLiteRow {
        let place: IndexedPlace? =
            if let latitude = row[2] as Double?, let longitude = row[3] as Double? {
                IndexedPlace(latitude: latitude, longitude: longitude, isActive: row[1])
            } else {
                nil
            }
        return SQLiteRow(number: row[0], place: place)
    }
}
