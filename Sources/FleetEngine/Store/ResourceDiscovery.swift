// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Knows nothing, and notes what bodies look for first, so that a group's rows can be locked and read in one go.
final class ResourceDiscovery: ResourceLookup {
    private struct Unknown: Error {}

    private(set) var keys: Set<ResourceKey> = []

    func change(of key: ResourceKey) -> StoreChange? { nil }

    func stored<Resource: StoredResource>(_ key: ResourceKey, as type: Resource.Type) throws -> Resource? {
        self.keys.insert(key)
        throw Unknown()
    }

    func timeOfChange(of key: ResourceKey) throws -> Int64? {
        self.keys.insert(key)
        throw Unknown()
    }

    func prefetch(_ keys: Set<ResourceKey>) throws { self.keys.formUnion(keys) }

    func tables(with changes: [ResourceKey: StoreChange]) -> (any EngineReader)? { nil }
}
