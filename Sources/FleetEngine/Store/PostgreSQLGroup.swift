// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetPostgreSQL
import FleetTokens
import SwiftProtobuf

/// One attempt at a group of writes: a transaction that holds every row that their bodies look at.
final class PostgreSQLGroup: ResourceLookup {
    private let session: PostgreSQLSession
    private let isAlone: Bool
    /// What was read, `nil` for what is absent.
    private var stored: [ResourceKey: [UInt8]?] = [:]
    /// When rows that were read were last put, as far as that was asked for.
    private var times: [ResourceKey: Int64] = [:]
    private var changes: [ResourceKey: StoreChange] = [:]
    /// What the body that runs looked for, whether or not it was had.
    private var wanted: Set<ResourceKey> = []
    private var failure: (any Error)?
    /// Whether the body sent changes to the tables, as it looked through them.
    private var hasSent = false
    /// Whether it failed after that, so that they are undone.
    private var isUndone = false
    /// The rows that others hold, of those to be locked at first.
    private(set) var held: Set<ResourceKey> = []

    /// How long a row is waited for that another transaction holds, and how long the lock that no other group may hold:
    /// long enough for a group of another node.
    static let patience = Duration.milliseconds(100)

    /// Begins the transaction, and locks and reads rows.
    ///
    /// - Parameters:
    ///   - session: The connection.
    ///   - isAlone: Whether no other group of any node may run meanwhile.
    ///   - keys: What to read; more can be read later, but then not waited for.
    ///   - leavesHeld: Whether rows that others hold are left to them, and told by ``held``, or waited for.
    /// - Throws: ``PostgreSQLError``.
    init(
        _ session: PostgreSQLSession, isAlone: Bool, locking keys: Set<ResourceKey>, leavesHeld: Bool
    ) throws(PostgreSQLError) {
        self.session = session
        self.isAlone = isAlone
        let lock = PostgreSQLStatement(
            "SELECT pg_advisory_xact_lock\(isAlone ? "" : "_shared")($1)",
            [.integer(PostgreSQLEngineSchema.writersLock)])
        let wait = PostgreSQLQuery.wait(atMost: Self.patience)
        // Behind who waits to be alone, all others wait; so that is not for long, even where one of them stands still.
        try self.read(
            keys, after: [.once("BEGIN")] + (isAlone ? [wait, lock] : [lock, wait]),
            held: leavesHeld ? .isLeftOut : .isAwaited)
    }

    /// Runs a body and takes its changes over.
    ///
    /// - Parameter write: The body, which is told what it looked for, also where that failed.
    /// - Returns: What became of it; `nil` when it must run alone and left nothing.
    /// - Throws: ``PostgreSQLError``, whatever the body made of it.
    func run(_ write: inout QueuedWrite) throws -> QueuedWrite.Outcome? {
        self.wanted = []
        defer { write.keys.formUnion(self.wanted) }
        let transaction = GroupedTransaction(self)
        let outcome = write.run(transaction)
        if let failure { throw failure }
        guard self.isAlone || !transaction.mustBeAlone(isKept: outcome.isKept) else { return nil }
        // A group whose body looks through the tables has no other.
        if outcome.isKept { self.changes.merge(transaction.changes) { $1 } } else { self.isUndone = self.hasSent }
        return outcome
    }

    /// Makes the changes durable.
    func commit() throws {
        guard !self.isUndone else { return self.session.rollBack() }
        try self.session.pipeline(try Self.statements(self.changes, self.stored) + [.once("COMMIT")])
    }

    func change(of key: ResourceKey) throws -> StoreChange? { self.changes[key] }

    func stored<Resource: StoredResource>(_ key: ResourceKey, as type: Resource.Type) throws -> Resource? {
        try self.prefetch([key])
        return try self.stored[key]?.map { try Resource(serializedBytes: $0) }
    }

    func prefetch(_ keys: Set<ResourceKey>) throws {
        self.wanted.formUnion(keys)
        let unknown = keys.filter { self.stored[$0] == nil }
        guard !unknown.isEmpty else { return }
        // Out of the order in which all lock, so waiting could be for ever. Who is alone waits for no other node.
        try self.noting { try self.read(unknown, held: self.isAlone ? .isAwaited : .fails) }
    }

    func timeOfChange(of key: ResourceKey) throws -> Int64? {
        try self.prefetch([key])
        guard case .some(.some) = self.stored[key] else { return nil }
        if self.times[key] == nil { try self.noting { try self.readTimes(in: key.collection) } }
        return self.times[key]
    }

    /// Reads the times of all rows of a collection that were read, as who asks for one asks for others next.
    private func readTimes(in collection: StoreCollection) throws {
        let keys = self.stored.compactMap { key, message in
            message != nil && key.collection == collection && self.times[key] == nil ? key : nil
        }
        // Nobody else changes them, as their rows are locked.
        let rows = try self.session.pipeline([PostgreSQLQuery.timesOfChange(of: keys, in: collection)]).last
        for number in 0..<(rows?.count ?? 0) {
            guard let row = rows?[number] else { return }
            let key = ResourceKey(collection: collection, provider: try row.text(0), id: try row.text(1))
            self.times[key] = try row.integer(2)
        }
    }

    func tables(with changes: [ResourceKey: StoreChange]) throws -> (any EngineReader)? {
        guard self.isAlone else { return nil }
        try self.noting {
            self.hasSent = true
            try self.session.pipeline(try Self.statements(changes, self.stored))
            for key in changes.keys {
                self.stored[key] = nil
                self.times[key] = nil
            }
        }
        return PostgreSQLReader(self.session)
    }

    /// Remembers a failure, which a body could take for one of its own.
    private func noting(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch {
            self.failure = error
            throw error
        }
    }

    private func read(
        _ keys: Set<ResourceKey>, after first: [PostgreSQLStatement] = [], held: PostgreSQLQuery.HeldRow
    ) throws(PostgreSQLError) {
        let byCollection = Dictionary(grouping: keys, by: \.collection)
        let collections = StoreCollection.allCases.compactMap { collection in
            byCollection[collection].map { (collection, $0) }
        }
        var statements = first
        for (collection, keys) in collections {
            statements.append(PostgreSQLQuery.lock(keys.sorted(), in: collection, held: held))
        }
        if held == .isLeftOut {
            // After them, so that whatever is there and was not locked is another's.
            for (collection, keys) in collections { statements.append(PostgreSQLQuery.present(keys, in: collection)) }
        }
        let answers = try self.session.pipeline(statements).dropFirst(first.count)
        for key in keys { self.stored[key] = .some(nil) }
        for ((collection, _), rows) in zip(collections, answers) {
            for number in 0..<rows.count {
                let row = rows[number]
                let key = ResourceKey(collection: collection, provider: try row.text(0), id: try row.text(1))
                self.stored[key] = try row.bytes(2)
            }
        }
        for ((collection, _), rows) in zip(collections, answers.dropFirst(collections.count)) {
            for number in 0..<rows.count {
                let key = ResourceKey(
                    collection: collection, provider: try rows[number].text(0), id: try rows[number].text(1))
                guard case .some(.none) = self.stored[key] else { continue }
                self.stored[key] = nil
                self.held.insert(key)
            }
        }
    }

    private static func statements(
        _ changes: [ResourceKey: StoreChange], _ stored: [ResourceKey: [UInt8]?]
    ) throws -> [PostgreSQLStatement] {
        var statements: [PostgreSQLStatement] = []
        let collections = Dictionary(grouping: changes.keys, by: \.collection)
        for collection in StoreCollection.allCases {
            var (removed, known, new, unknown) = ([ResourceKey](), [ResourceRow](), [ResourceRow](), [ResourceRow]())
            for key in (collections[collection] ?? []).sorted() {
                guard let (resource, updated) = changes[key]?.put else {
                    // What was absent is not locked: whatever is there now, another node has made since.
                    if case .some(.none) = stored[key] { continue }
                    removed.append(key)
                    continue
                }
                let row = ResourceRow(
                    key: key, keys: resource.keys, updated: updated, message: try resource.serializedBytes())
                switch stored[key] {
                case .some(.some): known.append(row)
                case .some(.none): new.append(row)
                case .none where updated == nil: known.append(row)
                case .none: unknown.append(row)
                }
            }
            if !removed.isEmpty { statements.append(PostgreSQLQuery.remove(removed, from: collection)) }
            if !known.isEmpty { statements.append(PostgreSQLQuery.update(known, in: collection)) }
            // Another node may have made the same resource meanwhile; then the group is attempted anew, and finds it.
            if !new.isEmpty { statements.append(PostgreSQLQuery.insert(new, into: collection, replaces: false)) }
            if !unknown.isEmpty { statements.append(PostgreSQLQuery.insert(unknown, into: collection, replaces: true)) }
        }
        return statements
    }
}
