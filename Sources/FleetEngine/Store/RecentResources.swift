// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens

/// Resources as the tables hold them that were read or changed lately, so that looking one up again touches no table.
///
/// One process alone writes the tables. What a group of writes changes is not known here from before it is committed
/// until after, so that nobody is shown less than another was shown before.
final class RecentResources: Sendable {
    /// A resource, and how many bytes its message has; in memory it takes about ten times that.
    struct Entry: Sendable {
        let resource: any StoredResource
        let size: Int
    }

    private struct State {
        /// Grows with each group of writes.
        var version: UInt64 = 0
        /// What the group that is being committed makes of its resources; `nil` where it is not known.
        var changing: [ResourceKey: Entry?] = [:]
        /// Those that were wanted since the last change of generations, and those of the generation before.
        var young: [ResourceKey: Entry] = [:]
        var old: [ResourceKey: Entry] = [:]
        /// The sizes of the young together.
        var youngBytes = 0
        var isClosed = false

        mutating func keep(_ entry: Entry, _ key: ResourceKey, _ limits: Limits) {
            guard !self.isClosed else { return }
            // What is too large for a generation would leave nothing else in it.
            guard entry.size <= limits.bytes else { return self.forget(key) }
            if self.young.count >= limits.count || self.youngBytes + entry.size > limits.bytes {
                self.old = self.young
                self.young = [:]
                self.youngBytes = 0
            }
            let former = self.young.updateValue(entry, forKey: key)
            self.youngBytes += entry.size - (former?.size ?? 0)
        }

        mutating func forget(_ key: ResourceKey) {
            self.youngBytes -= self.young.removeValue(forKey: key)?.size ?? 0
            self.old[key] = nil
        }
    }

    /// What one generation holds at most.
    private struct Limits {
        let count: Int
        let bytes: Int
    }

    private let state = Locked(State())
    private let generation: Limits

    /// Makes an empty memory.
    ///
    /// - Parameters:
    ///   - limit: How many resources are kept at most.
    ///   - byteLimit: How many bytes their messages have at most, together.
    init(limit: Int, byteLimit: Int) {
        self.generation = Limits(count: max(1, limit / 2), bytes: byteLimit / 2)
    }

    /// Grows with each group of writes.
    var version: UInt64 { self.state.withLock { $0.version } }

    /// The resource and the version at which it is as it is; `nil` when the tables must be asked.
    func find(_ key: ResourceKey) -> (resource: any StoredResource, version: UInt64)? {
        self.state.withLock { state in
            if let entry = state.young[key] { return (entry.resource, state.version) }
            guard let entry = state.old[key] else { return nil }
            state.keep(entry, key, self.generation)
            return (entry.resource, state.version)
        }
    }

    /// Keeps what a look at the tables found, if it is that still.
    ///
    /// - Parameters:
    ///   - entry: What was found.
    ///   - key: Where it is.
    ///   - version: The version from before the look began.
    func keep(_ entry: Entry, _ key: ResourceKey, since version: UInt64) {
        self.state.withLock { state in
            guard state.version == version, state.changing[key] == nil else { return }
            state.keep(entry, key, self.generation)
        }
    }

    /// Forgets what a group is about to change.
    ///
    /// - Parameter changes: The resources as they will be; `nil` for those that are removed, or must be looked at again.
    func begin(_ changes: [ResourceKey: Entry?]) {
        self.state.withLock { state in
            state.changing = changes
            for key in changes.keys { state.forget(key) }
        }
    }

    /// Keeps what the group put, now that it is durable; nothing, where it is not known whether it is.
    func end(isDurable: Bool) {
        self.state.withLock { state in
            state.version += 1
            let changes = state.changing
            state.changing = [:]
            guard isDurable else { return }
            for (key, entry) in changes { if let entry { state.keep(entry, key, self.generation) } }
        }
    }

    /// Forgets everything and keeps nothing more.
    func close() {
        self.state.withLock { state in
            state.young = [:]
            state.old = [:]
            state.youngBytes = 0
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
    /// Whether the body wanted to look through many resources, and so will over the tables.
    private(set) var scans = false

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
        throw self.interrupt(scans: !scan.isShort)
    }

    func scanVehicles(
        nearest point: LatLng, within meters: Double, of provider: ProviderID,
        _ body: (_ leastMeters: Double, Vehicle) throws -> Bool
    ) throws {
        throw self.interrupt()
    }

    func count(_ collection: StoreCollection, of provider: ProviderID) throws -> Int {
        throw self.interrupt(scans: true)
    }

    func providers() throws -> [ProviderID] { throw self.interrupt(scans: true) }

    private func interrupt(scans: Bool = false) -> Unknown {
        self.isInterrupted = true
        self.scans = self.scans || scans
        return Unknown()
    }
}
