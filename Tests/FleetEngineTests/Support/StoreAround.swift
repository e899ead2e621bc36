// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

@testable import FleetEngine

/// A store around another, which does what it does not do itself.
protocol StoreAround: EngineStore {
    var store: any EngineStore { get }
}

extension StoreAround {
    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineReader) throws -> Result
    ) async throws -> Result {
        try await self.store.read(body)
    }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineTransaction) throws -> Result
    ) async throws -> Result {
        try await self.store.write(body)
    }
}
