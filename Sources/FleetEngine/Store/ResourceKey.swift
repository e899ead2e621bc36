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
