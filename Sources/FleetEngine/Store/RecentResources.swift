// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Resources as the tables hold them that were read or changed lately, so that looking one up again touches no table.
///
/// One process alone writes the tables. What a group of writes changes is not known here from before it is committed
/// until after, so that nobody is shown less than another was shown before.
final class RecentResources: Sendable {
    private struct State {
        /// Grows with each group of writes.
        var version: UInt64 = 0
        /// What the group that is being committed changes.
        var changing: Set<ResourceKey> = []
        /// Those that were wanted since the last change of generations, and those of the generation before.
        var young: [ResourceKey: any StoredResource] = [:]
        var old: [ResourceKey: any StoredResource] = [:]
        var isClosed = false

        mutating func keep(_ resource: any StoredResource, _ key: ResourceKey, limit: Int) {
            guard !self.isClosed else { return }
            if self.young.count >= limit {
                self.old = self.young
                self.young = [:]
            }
            self.young[key] = resource
        }

        mutating func forget(_ key: ResourceKey) {
            self.young[key] = nil
            self.old[key] = nil
        }
    }

    private let state = Locked(State())
    private let generationLimit: Int

    /// Makes an empty memory.
    ///
    /// - Parameter limit: How many resources are kept at most.
    init(limit: Int) {
        self.generationLimit = max(1, limit / 2)
    }

    /// Grows with each group of writes.
    var version: UInt64 { self.state.withLock { $0.version } }

    /// The resource and the version at which it is as it is; `nil` when the tables must be asked.
    func find(_ key: ResourceKey) -> (resource: any StoredResource, version: UInt64)? {
        self.state.withLock { state in
            if let resource = state.young[key] { return (resource, state.version) }
            guard let resource = state.old[key] else { return nil }
            state.keep(resource, key, limit: self.generationLimit)
            return (resource, state.version)
        }
    }

    /// Keeps what a look at the tables found, if it is that still.
    ///
    /// - Parameters:
    ///   - resource: What was found.
    ///   - key: Where it is.
    ///   - version: The version from before the look began.
    func keep(_ resource: any StoredResource, _ key: ResourceKey, since version: UInt64) {
        self.state.withLock { state in
            guard state.version == version, !state.changing.contains(key) else { return }
            state.keep(resource, key, limit: self.generationLimit)
        }
    }

    /// Forgets what a group is about to change.
    func begin(changing keys: some Sequence<ResourceKey>) {
        self.state.withLock { state in
            state.changing = Set(keys)
            for key in state.changing { state.forget(key) }
        }
    }

    /// Keeps what a group changed, now that it is durable; nothing, where it is not known whether it is.
    func end(with changes: [ResourceKey: StoreChange]) {
        self.state.withLock { state in
            state.version += 1
            state.changing = []
            for case (let key, .put(let resource, _)) in changes {
                state.keep(resource, key, limit: self.generationLimit)
            }
        }
    }

    /// Forgets everything and keeps nothing more.
    func close() {
        self.state.withLock { state in
            state.young = [:]
            state.old = [:]
            state.isClosed = true
        }
    }
}

/// Looks up resources that are all known as of one moment, and notes whether they were.
final class RecentReader: EngineReader {
    /// Why a body must run over the tables, whatever it makes of this.
    struct Unknown: Error {}

    private let recent: RecentResources
    private var version: UInt64?
    private var isInterrupted = false

    init(_ recent: RecentResources) {
        self.recent = recent
    }

    /// Whether the body looked something up, and nothing but what is known.
    var isEnough: Bool { self.version != nil && !self.isInterrupted }

    func find<Resource: StoredResource>(
        _ id: FleetID<Resource.Kind>, of provider: ProviderID, as type: Resource.Type
    ) throws -> Resource? {
        guard let found = self.recent.find(ResourceKey(id, provider, type)),
            let resource = found.resource as? Resource, found.version == self.version ?? found.version
        else { throw self.interrupt() }
        self.version = found.version
        return resource
    }

    func scan<Resource: StoredResource>(
        _ scan: StoreScan, of provider: ProviderID, _ body: (_ id: String, Resource) throws -> Bool
    ) throws {
        throw self.interrupt()
    }

    func count(_ collection: StoreCollection, of provider: ProviderID) throws -> Int { throw self.interrupt() }

    func providers() throws -> [ProviderID] { throw self.interrupt() }

    private func interrupt() -> Unknown {
        self.isInterrupted = true
        return Unknown()
    }
}
