// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngine
import FleetTokenServer
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

    func engine(
        verifier: any TokenVerifying, router: OSRMRouter?, recorder: CallRecorder?, watch: DeviationWatch,
        faults: FaultInjector?, metrics: EngineMetrics,
        logger: Logger
    ) -> Engine {
        switch self {
        case .file(let store):
            Engine(
                store: store, verifier: verifier, router: router, recorder: recorder, watch: watch, faults: faults,
                metrics: metrics, logger: logger)
        case .database(let store, address: _):
            Engine(
                store: store, verifier: verifier, router: router, recorder: recorder, watch: watch, faults: faults,
                metrics: metrics, logger: logger)
        }
    }

    /// Fails with what to mend where the store cannot be used, and tells where it can and others may be on the way.
    func check(_ logger: Logger) async throws {
        guard case .database(let store, address: let address) = self else { return }
        try await TokenServerStore.checkAnswer(of: address)
        do throws(EngineError) {
            try await store.check()
        } catch {
            throw CommandFailure(engineStore: error)
        }
        await logger.warn(ofDatabase: address)
    }

    func close() async throws {
        switch self {
        case .file(let store): try await store.close()
        case .database(let store, address: _): await store.close()
        }
    }
}
