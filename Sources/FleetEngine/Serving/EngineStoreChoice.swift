// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetPostgreSQL
import Logging

/// The engine's store: a file in a data folder, or a database that many nodes share.
enum EngineStoreChoice {
    case file(SQLiteStore)
    case database(PostgreSQLStore, address: String)

    init(_ address: String?, file: String, logger: Logger) throws(EngineError) {
        self =
            if let address { .database(try PostgreSQLStore(address, logger: logger), address: address) } else {
                .file(try SQLiteStore(path: file, logger: logger))
            }
    }

    /// The store itself.
    var store: any EngineStore {
        switch self {
        case .file(let store): store
        case .database(let store, address: _): store
        }
    }

    /// Fails with what to mend where the store cannot be used, and tells where it can and others may be on the way.
    func check(_ logger: Logger) async throws(EngineError) {
        guard case .database(let store, address: let address) = self else { return }
        do throws(PostgreSQLError) {
            try await PostgreSQLPool.checkAnswer(of: address)
        } catch {
            throw EngineError(
                code: .unavailable, reason: "STORE_UNAVAILABLE", message: "the store: \(error.message)")
        }
        try await store.check()
        await logger.warn(ofDatabase: address)
    }

    func close() async throws {
        switch self {
        case .file(let store): try await store.close()
        case .database(let store, address: _): await store.close()
        }
    }
}
