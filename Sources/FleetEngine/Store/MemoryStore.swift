// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
public import Foundation
public import Logging
import SwiftProtobuf

/// Keeps resources in memory, for tests and for engines that may forget.
///
/// It answers as the other stores do, and is empty again with the next one. It has no index, so a list, and a search for
/// vehicles nearby, looks at everything that the provider has.
public final class MemoryStore: EngineStore {
    private let contents = Locked(Contents())

    /// Makes an empty store.
    public init() {}

    var repeatsMessages: Bool { true }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineReader) throws -> Result
    ) async throws -> Result {
        try self.contents.withLock { contents in try body(contents) }
    }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineTransaction) throws -> Result
    ) async throws -> Result {
        try self.contents.withLock { contents in
            let transaction = Transaction(contents)
            // Gives the only reference away, so that puts change the dictionaries in place.
            contents = Contents()
            defer { contents = transaction.contents }
            do {
                return try body(transaction)
            } catch {
                transaction.rollBack()
                throw error
            }
        }
    }
}

extension MemoryStore {
    private struct Key: Hashable, Sendable {
        let provider: ProviderID
        let id: String
    }

    private struct Entry: Sendable {
        let resource: any StoredResource
        let keys: StoreKeys
        let updated: Google_Protobuf_Timestamp

        func meets(_ scan: StoreScan) -> Bool {
            guard !scan.isActiveOnly || self.keys.isActive,
                scan.holder == nil || scan.holder == self.keys.holder,
                scan.tracking == nil || scan.tracking == self.keys.tracking
            else { return false }
            if let unchangedSince = scan.unchangedSince, unchangedSince < self.updated { return false }
            return scan.covers(self.keys.place)
        }
    }

    private struct Contents: EngineReader, Sendable {
        var collections: [StoreCollection: [Key: Entry]] = [:]

        func find<Resource: StoredResource>(
            _ id: FleetID<Resource.Kind>, of provider: ProviderID, as type: Resource.Type
        ) -> Resource? {
            self.collections[type.collection]?[Key(provider: provider, id: id.value)]?.resource as? Resource
        }

        func scan<Resource: StoredResource>(
            _ scan: StoreScan, of provider: ProviderID, _ body: (_ id: String, Resource) throws -> Bool
        ) throws {
            let after = scan.after.utf8
            var found: [(id: String, resource: Resource)] = []
            for (key, entry) in self.collections[Resource.collection] ?? [:] where key.provider == provider {
                guard after.lexicographicallyPrecedes(key.id.utf8), entry.meets(scan),
                    let resource = entry.resource as? Resource
                else { continue }
                found.append((key.id, resource))
            }
            if scan.isOrdered { found.sort { $0.id.utf8.lexicographicallyPrecedes($1.id.utf8) } }
            for (id, resource) in found where try !body(id, resource) { return }
        }

        func count(_ collection: StoreCollection, of provider: ProviderID) -> Int {
            self.collections[collection]?.keys.count { $0.provider == provider } ?? 0
        }

        func providers() -> [ProviderID] {
            Array(Set(self.collections.values.flatMap { $0.keys.map(\.provider) }))
        }
    }

    private final class Transaction: EngineTransaction {
        private(set) var contents: Contents
        /// What touched entries were, absent ones included, the last touched last.
        private var before: [(collection: StoreCollection, key: Key, entry: Entry?)] = []

        init(_ contents: Contents) {
            self.contents = contents
        }

        func find<Resource: StoredResource>(
            _ id: FleetID<Resource.Kind>, of provider: ProviderID, as type: Resource.Type
        ) -> Resource? {
            self.contents.find(id, of: provider, as: type)
        }

        func scan<Resource: StoredResource>(
            _ scan: StoreScan, of provider: ProviderID, _ body: (_ id: String, Resource) throws -> Bool
        ) throws {
            try self.contents.scan(scan, of: provider, body)
        }

        func count(_ collection: StoreCollection, of provider: ProviderID) -> Int {
            self.contents.count(collection, of: provider)
        }

        func providers() -> [ProviderID] { self.contents.providers() }

        func isUnchanged<Resource: StoredResource>(
            _ id: FleetID<Resource.Kind>, of provider: ProviderID, as type: Resource.Type,
            since time: Google_Protobuf_Timestamp
        ) -> Bool {
            let entry = self.contents.collections[type.collection]?[Key(provider: provider, id: id.value)]
            return entry.map { !(time < $0.updated) } ?? false
        }

        func put<Resource: StoredResource>(
            _ resource: Resource, _ id: FleetID<Resource.Kind>, of provider: ProviderID,
            at now: Google_Protobuf_Timestamp?
        ) {
            let key = Key(provider: provider, id: id.value)
            let former = self.contents.collections[Resource.collection]?[key]?.updated
            let updated = now ?? former ?? Google_Protobuf_Timestamp()
            self.replace(
                key, in: Resource.collection, by: Entry(resource: resource, keys: resource.keys, updated: updated))
        }

        func remove<Resource: StoredResource>(
            _ id: FleetID<Resource.Kind>, of provider: ProviderID, as type: Resource.Type
        ) {
            self.replace(Key(provider: provider, id: id.value), in: type.collection, by: nil)
        }

        private func replace(_ key: Key, in collection: StoreCollection, by entry: Entry?) {
            self.before.append((collection, key, self.contents.collections[collection]?[key]))
            self.contents.collections[collection, default: [:]][key] = entry
        }

        func rollBack() {
            for (collection, key, entry) in self.before.reversed() {
                self.contents.collections[collection]?[key] = entry
            }
        }
    }
}

extension Engine {
    /// Makes an engine over a store in memory.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - verifier: What decides whether a token is good.
    ///   - activity: What remembers the callers.
    ///   - router: What knows the roads; `nil` estimates ways by the straight line.
    ///   - recorder: What keeps every call; `nil` for none.
    ///   - watch: What notes departures from the documentation, and how strict the engine is.
    ///   - faults: What lets things go wrong by script; `nil` for nothing.
    ///   - metrics: What counts the calls; `nil` for none.
    ///   - logger: Where failures of the engine's own are told; nowhere unless told otherwise.
    ///   - now: The clock that tokens are judged and changes are dated by.
    public init(
        store: MemoryStore, verifier: any TokenVerifying, activity: EngineActivity = EngineActivity(),
        router: (any RoadRouter)? = nil, recorder: CallRecorder? = nil, watch: DeviationWatch = DeviationWatch(),
        faults: FaultInjector? = nil, metrics: EngineMetrics? = nil,
        logger: Logger = Logger(label: "fleetpass.engine") { _ in SwiftLogNoOpLogHandler() },
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(
            store: store as any EngineStore, verifier: verifier, activity: activity, router: router,
            recorder: recorder, watch: watch, faults: faults, metrics: metrics, logger: logger, now: now)
    }
}
