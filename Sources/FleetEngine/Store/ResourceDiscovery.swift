// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Knows nothing, and notes what bodies look for first, so that a group's rows can be locked and read in one go.
final class ResourceDiscovery: ResourceLookup {
    private struct Unknown: Error {}

    private(set) var keys: Set<ResourceKey> = []

    func change(of key: ResourceKey) -> StoreChange? { nil }

    func message(of key: ResourceKey) throws -> [UInt8]? {
        self.keys.insert(key)
        throw Unknown()
    }

    func tables(with changes: [ResourceKey: StoreChange]) -> (any EngineReader)? { nil }
}
