// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

@testable import FleetEngine

/// Runs writes for their result alone and takes back what they put, so that one world serves many calls.
struct DryRunStore: StoreAround {
    let store: any EngineStore

    private struct TakenBack<Result: Sendable>: Error {
        let result: Result
    }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineTransaction) throws -> Result
    ) async throws -> Result {
        do {
            return try await self.store.write { throw TakenBack(result: try body($0)) }
        } catch let taken as TakenBack<Result> {
            return taken.result
        }
    }
}
