// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// What a body did with a resource.
enum StoreChange: Sendable {
    /// `updated` is `nil` where the tables tell when the resource was changed last, and that stays.
    case put(any StoredResource, updated: Int64?)
    /// A vehicle that differs by a report only from what the tables hold.
    case report(Vehicle, updated: Int64)
    case removed

    /// What is to be in the tables; `nil` for nothing.
    var put: (resource: any StoredResource, updated: Int64?)? {
        switch self {
        case .put(let resource, let updated): (resource, updated)
        case .report(let vehicle, let updated): (vehicle, updated)
        case .removed: nil
        }
    }

    /// The change after another of the same resource that the tables do not hold yet.
    func following(_ former: StoreChange?) -> StoreChange {
        switch (self, former) {
        case (.report(let vehicle, let updated), .put?), (.report(let vehicle, let updated), .removed?):
            .put(vehicle, updated: updated)
        default: self
        }
    }
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
        if let change = try self.change(of: key) {
            return change.put?.resource as? Resource
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
        self.changes[key] = .put(resource, updated: try now?.microseconds ?? self.change(of: key)?.put?.updated)
    }

    func report(_ vehicle: Vehicle, _ id: VehicleID, of provider: ProviderID, at now: Google_Protobuf_Timestamp) {
        let key = ResourceKey(id, provider, Vehicle.self)
        self.changes[key] = StoreChange.report(vehicle, updated: now.microseconds).following(self.changes[key])
    }

    func isUnchanged<Resource: StoredResource>(
        _ id: FleetID<Resource.Kind>, of provider: ProviderID, as type: Resource.Type,
        since time: Google_Protobuf_Timestamp
    ) throws -> Bool {
        let key = ResourceKey(id, provider, type)
        if let change = try self.change(of: key) {
            guard let put = change.put else { return false }
            if let updated = put.updated { return updated <= time.microseconds }
        }
        return try self.group.timeOfChange(of: key).map { $0 <= time.microseconds } ?? false
    }

    /// What the body or its group did with a resource.
    private func change(of key: ResourceKey) throws -> StoreChange? {
        try self.changes[key] ?? self.group.change(of: key)
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

    /// When a resource was last put, as it is stored, in microseconds since 1970; `nil` where it is not there.
    func timeOfChange(of key: ResourceKey) throws -> Int64?

    /// Reads resources that are looked for next.
    func prefetch(_ keys: Set<ResourceKey>) throws

    /// The tables with changes sent to them; `nil` where others could come in between.
    func tables(with changes: [ResourceKey: StoreChange]) throws -> (any EngineReader)?
}

extension ResourceLookup {
    /// Does nothing, where resources are as quickly read one by one.
    func prefetch(_ keys: Set<ResourceKey>) throws {}
}
