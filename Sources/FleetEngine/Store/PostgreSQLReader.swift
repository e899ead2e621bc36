// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetPostgreSQL
import FleetTokens
import SwiftProtobuf

/// What can be looked up in one transaction, which begins with the first look.
final class PostgreSQLReader: EngineReader {
    private let session: PostgreSQLSession
    private var begin: PostgreSQLStatement?
    private var cursors = 0

    /// Looks within a transaction that is under way, or in one of its own that begins so.
    init(_ session: PostgreSQLSession, begin: String? = nil) {
        self.session = session
        self.begin = begin.map { .once($0) }
    }

    /// Ends the transaction, if one began.
    func end() throws {
        if self.begin == nil { try self.session.query(.once("COMMIT")) }
    }

    func find<Resource: StoredResource>(
        _ id: FleetID<Resource.Kind>, of provider: ProviderID, as type: Resource.Type
    ) throws -> Resource? {
        let rows = try self.send([PostgreSQLQuery.find(ResourceKey(id, provider, type))])
        return try rows?.first.map { try Resource(serializedBytes: try $0.bytes(0)) }
    }

    func scan<Resource: StoredResource>(
        _ scan: StoreScan, of provider: ProviderID, _ body: (_ id: String, Resource) throws -> Bool
    ) throws {
        let statement = PostgreSQLQuery.scan(scan, Resource.collection, provider)
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
            (portion, statements) = (512, [])
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
