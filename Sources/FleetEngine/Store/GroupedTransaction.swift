// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import SwiftProtobuf

/// What a body did with a resource.
enum StoreChange: Sendable {
    /// `updated` is `nil` where the tables tell when the resource was changed last, and that stays.
    case put(any StoredResource, updated: Int64?)
    case removed
}

/// What one body looks up and changes; its group takes the changes over if they are to be kept.
final class GroupedTransaction: EngineTransaction {
    /// Why a body must stop; whatever it makes of that, it is run again.
    private struct Interrupted: Error {}

    let group: any ResourceLookup
    private(set) var changes: [ResourceKey: StoreChange] = [:]
    private var found: Set<ResourceKey> = []
    private var absent: Set<ResourceKey> = []
    private var isInterrupted = false

    init(_ group: any ResourceLookup) {
        self.group = group
    }

    /// Whether what the body did rests on something that no locked row stands for, so that it must run alone.
    ///
    /// That is a scan, or that a resource is absent: another node may make it a moment later. Those that the body puts
    /// need no more, as putting them fails then. Where nothing is kept, one resource alone was absent at that moment and
    /// no more is claimed, but several were perhaps never absent, or as they are, at any one moment.
    ///
    /// - Parameter isKept: Whether what the body put is kept.
    /// - Returns: Whether a group with others will not do.
    func mustBeAlone(isKept: Bool) -> Bool {
        if self.isInterrupted { return true }
        guard isKept, !self.changes.isEmpty else {
            return !self.absent.isEmpty && self.absent.count + self.found.count > 1
        }
        return !self.absent.allSatisfy { self.changes[$0] != nil }
    }

    func find<Resource: StoredResource>(
        _ id: FleetID<Resource.Kind>, of provider: ProviderID, as type: Resource.Type
    ) throws -> Resource? {
        let key = ResourceKey(id, provider, type)
        switch try self.changes[key] ?? self.group.change(of: key) {
        case .put(let resource, _): return resource as? Resource
        case .removed: return nil
        case nil: break
        }
        guard let resource = try self.group.stored(key, as: type) else {
            self.absent.insert(key)
            return nil
        }
        self.found.insert(key)
        return resource
    }

    func prefetch<Resource: StoredResource>(
        _ ids: [FleetID<Resource.Kind>], of provider: ProviderID, as type: Resource.Type
    ) throws {
        try self.group.prefetch(Set(ids.map { ResourceKey($0, provider, type) }))
    }

    func put<Resource: StoredResource>(
        _ resource: Resource, _ id: FleetID<Resource.Kind>, of provider: ProviderID, at now: Google_Protobuf_Timestamp?
    ) throws {
        let key = ResourceKey(id, provider, Resource.self)
        self.changes[key] = .put(resource, updated: try now?.microseconds ?? self.timeOfChange(of: key))
    }

    /// When the body or its group changed a resource; `nil` where the tables tell.
    private func timeOfChange(of key: ResourceKey) throws -> Int64? {
        guard case .put(_, let updated)? = try self.changes[key] ?? self.group.change(of: key) else { return nil }
        return updated
    }

    func remove<Resource: StoredResource>(
        _ id: FleetID<Resource.Kind>, of provider: ProviderID, as type: Resource.Type
    ) {
        self.changes[ResourceKey(id, provider, type)] = .removed
    }

    func scan<Resource: StoredResource>(
        _ scan: StoreScan, of provider: ProviderID, _ body: (_ id: String, Resource) throws -> Bool
    ) throws {
        try self.looking { try $0.scan(scan, of: provider, body) }
    }

    func count(_ collection: StoreCollection, of provider: ProviderID) throws -> Int {
        try self.looking { try $0.count(collection, of: provider) }
    }

    func providers() throws -> [ProviderID] { try self.looking { try $0.providers() } }

    /// Looks through the tables, after what the body changed was sent there.
    private func looking<Result>(_ look: (any EngineReader) throws -> Result) throws -> Result {
        guard let tables = try self.group.tables(with: self.changes) else {
            self.isInterrupted = true
            throw Interrupted()
        }
        self.changes = [:]
        return try look(tables)
    }
}

/// Where a body's transaction looks.
protocol ResourceLookup: AnyObject {
    /// What an earlier body of the group did with a resource.
    func change(of key: ResourceKey) throws -> StoreChange?

    /// The resource as it is stored, or `nil`.
    func stored<Resource: StoredResource>(_ key: ResourceKey, as type: Resource.Type) throws -> Resource?

    /// Reads resources that are looked for next.
    func prefetch(_ keys: Set<ResourceKey>) throws

    /// The tables with changes sent to them; `nil` where others could come in between.
    func tables(with changes: [ResourceKey: StoreChange]) throws -> (any EngineReader)?
}

extension ResourceLookup {
    /// Does nothing, where resources are as quickly read one by one.
    func prefetch(_ keys: Set<ResourceKey>) throws {}
}
