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
    ///   - watch: What notes departures from the documentation, and how strict the engine is.
    ///   - faults: What lets things go wrong by script; `nil` for nothing.
    ///   - logger: Where failures of the engine's own are told.
    public init(
        store: SQLiteStore, verifier: any TokenVerifying, activity: EngineActivity = EngineActivity(),
        recorder: CallRecorder? = nil, watch: DeviationWatch = DeviationWatch(),
        faults: FaultInjector? = nil, logger: Logger
    ) {
        self.init(
            store: store as any EngineStore, verifier: verifier, activity: activity, recorder: recorder,
            watch: watch, faults: faults, logger: logger)
    }
}
