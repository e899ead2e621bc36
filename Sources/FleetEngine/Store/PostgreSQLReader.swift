// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetPostgreSQL
import FleetTokens
import SwiftProtobuf

/// What can be looked up in one transaction, which begins with the first look.
final class PostgreSQLReader: EngineReader {
    /// How many resources one statement finds at most.
    private static let portion = 512

    private let session: PostgreSQLSession
    private let rowLimit: Int
    private var begin: PostgreSQLStatement?
    private var cursors = 0
    /// What was read ahead, `nil` for what is absent.
    private var fetched: [ResourceKey: [UInt8]?] = [:]

    /// Looks within a transaction that is under way, or in one of its own that begins so.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - begin: What begins the transaction; `nil` for one that is under way.
    ///   - rowLimit: How many rows one statement looks at where no index tells which are wanted.
    init(_ session: PostgreSQLSession, begin: String? = nil, rowLimit: Int = 10_000) {
        self.session = session
        self.rowLimit = rowLimit
        self.begin = begin.map { .once($0) }
    }

    /// Ends the transaction, if one began.
    func end() throws {
        if self.begin == nil { try self.session.query(.once("COMMIT")) }
    }

    func find<Resource: StoredResource>(
        _ id: FleetID<Resource.Kind>, of provider: ProviderID, as type: Resource.Type
    ) throws -> Resource? {
        let key = ResourceKey(id, provider, type)
        if let fetched = self.fetched[key] { return try fetched.map { try Resource(serializedBytes: $0) } }
        let rows = try self.send([PostgreSQLQuery.find(key)])
        return try rows?.first.map { try Resource(serializedBytes: try $0.bytes(0)) }
    }

    func prefetch<Resource: StoredResource>(
        _ ids: [FleetID<Resource.Kind>], of provider: ProviderID, as type: Resource.Type
    ) throws {
        let keys = ids.map { ResourceKey($0, provider, type) }
        guard !keys.isEmpty, let rows = try self.send([PostgreSQLQuery.find(keys, in: type.collection)]) else { return }
        for key in keys { self.fetched[key] = .some(nil) }
        for number in 0..<rows.count {
            let row = rows[number]
            let key = ResourceKey(collection: type.collection, provider: try row.text(0), id: try row.text(1))
            self.fetched[key] = try row.bytes(2)
        }
    }

    func scan<Resource: StoredResource>(
        _ scan: StoreScan, of provider: ProviderID, _ body: (_ id: String, Resource) throws -> Bool
    ) throws {
        /// Whether more rows are wanted.
        func look(_ rows: PostgreSQLRows?) throws -> Bool {
            for number in 0..<(rows?.count ?? 0) {
                guard let row = rows?[number] else { return false }
                let resource = try Resource(serializedBytes: try row.bytes(1))
                guard scan.covers(resource.keys.place) else { continue }
                guard try body(try row.text(0), resource) else { return false }
            }
            return true
        }
        if scan.unchangedSince != nil, scan.isOrdered {
            return try self.scanInSteps(scan, Resource.collection, provider, look)
        }
        let statement = PostgreSQLQuery.scan(scan, Resource.collection, provider)
        guard scan.isOrdered else {
            _ = try look(try self.send([statement]))
            return
        }
        // Who wants an order may have enough soon.
        self.cursors += 1
        let cursor = "scan_\(self.cursors)"
        var (portion, statements) = (64, [PostgreSQLStatement]())
        statements = [.once("DECLARE \(cursor) NO SCROLL CURSOR FOR \(statement.sql)", statement.values)]
        while true {
            let rows = try self.send(statements + [.once("FETCH \(portion) FROM \(cursor)")])
            guard try look(rows), rows?.count == portion else { return }
            (portion, statements) = (Self.portion, [])
        }
    }

    /// Looks through some rows after the other, however few of them are wanted: a statement that went through millions to
    /// find one would be ended for the time it takes.
    private func scanInSteps(
        _ scan: StoreScan, _ collection: StoreCollection, _ provider: ProviderID,
        _ look: (PostgreSQLRows?) throws -> Bool
    ) throws {
        var scan = scan
        while true {
            let step = PostgreSQLQuery.last(of: self.rowLimit, after: scan.after, collection, provider)
            guard let end = try self.send([step])?.first, !end.isNull(0) else { return }
            let bounds = (last: try end.text(0), limit: Self.portion)
            let rows = try self.send([PostgreSQLQuery.scan(scan, collection, provider, within: bounds)])
            guard try look(rows) else { return }
            let isWhole = (rows?.count ?? 0) < Self.portion
            scan.after = if !isWhole, let rows { try rows[rows.count - 1].text(0) } else { bounds.last }
        }
    }

    func count(_ collection: StoreCollection, of provider: ProviderID) throws -> Int {
        Int(try self.send([PostgreSQLQuery.count(collection, provider)])?.first?.integer(0) ?? 0)
    }

    func providers() throws -> [ProviderID] {
        guard let rows = try self.send([PostgreSQLQuery.providers]) else { return [] }
        return try (0..<rows.count).compactMap { ProviderID(try rows[$0].text(0)) }
    }

    /// Sends statements, after `BEGIN` where they are the first, and gives the rows of the last.
    private func send(_ statements: [PostgreSQLStatement]) throws -> PostgreSQLRows? {
        let first = self.begin.map { [$0] } ?? []
        self.begin = nil
        return try self.session.pipeline(first + statements).last
    }
}
