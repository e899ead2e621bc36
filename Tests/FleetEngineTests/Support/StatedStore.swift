// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

@testable import FleetEngine

/// A store that says of itself what a test wants: unless told otherwise, that it has no clock but the engine's.
struct StatedStore: StoreAround {
    let store: any EngineStore
    let stated: @Sendable () async throws -> StoreStatus?

    init(store: any EngineStore, _ stated: @escaping @Sendable () async throws -> StoreStatus? = { nil }) {
        self.store = store
        self.stated = stated
    }

    func probe() async throws { try await self.store.probe() }

    func status() async throws -> StoreStatus? { try await self.stated() }
}
