// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Logging

extension Engine {
    /// Makes an engine over a SQLite store, which outlives it and is closed after it.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - verifier: What decides whether a token is good.
    ///   - activity: What remembers the callers.
    ///   - recorder: What keeps every call; `nil` for none.
    ///   - logger: Where failures of the engine's own are told.
    public init(
        store: SQLiteStore, verifier: any TokenVerifying, activity: EngineActivity = EngineActivity(),
        recorder: CallRecorder? = nil, logger: Logger
    ) {
        self.init(
            store: store as any EngineStore, verifier: verifier, activity: activity, recorder: recorder, logger: logger)
    }
}
