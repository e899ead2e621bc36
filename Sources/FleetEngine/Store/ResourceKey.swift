// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens

/// Where a resource is.
struct ResourceKey: Hashable, Sendable {
    let collection: StoreCollection
    let provider: String
    let id: String
    /// Made once, as each write looks for the same key in one table after another.
    private let hash: Int

    init(collection: StoreCollection, provider: String, id: String) {
        self.collection = collection
        self.provider = provider
        self.id = id
        var hasher = Hasher()
        hasher.combine(provider)
        hasher.combine(id)
        self.hash = hasher.finalize()
    }

    func hash(into hasher: inout Hasher) { hasher.combine(self.hash) }
}

extension ResourceKey: Comparable {
    init<Resource: StoredResource>(_ id: FleetID<Resource.Kind>, _ provider: ProviderID, _: Resource.Type) {
        self.init(collection: Resource.collection, provider: provider.value, id: id.value)
    }

    /// The order in which every node locks; ids are compared as the database's `C` collation does.
    static func < (left: Self, right: Self) -> Bool {
        guard left.provider == right.provider else {
            return left.provider.utf8.lexicographicallyPrecedes(right.provider.utf8)
        }
        return left.id.utf8.lexicographicallyPrecedes(right.id.utf8)
    }
}
