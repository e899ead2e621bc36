// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import Logging

extension Engine {
    /// Makes an engine over a SQLite store, which outlives it and is closed after it.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - verifier: What decides whether a token is good.
    ///   - activity: What remembers the callers.
    ///   - router: What knows the roads; `nil` estimates ways by the straight line.
    ///   - recorder: What keeps every call; `nil` for none.
    ///   - watch: What notes departures from the documentation, and how strict the engine is.
    ///   - faults: What lets things go wrong by script; `nil` for nothing.
    ///   - metrics: What counts the calls; `nil` for none.
    ///   - logger: Where failures of the engine's own are told.
    ///   - now: The clock that tokens are judged and changes are dated by.
    public init(
        store: SQLiteStore, verifier: any TokenVerifying, activity: EngineActivity = EngineActivity(),
        router: (any RoadRouter)? = nil, recorder: CallRecorder? = nil, watch: DeviationWatch = DeviationWatch(),
        faults: FaultInjector? = nil, metrics: EngineMetrics? = nil, logger: Logger,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(
            store: store as any EngineStore, verifier: verifier, activity: activity, router: router,
            recorder: recorder, watch: watch, faults: faults, metrics: metrics, logger: logger, now: now)
    }
}
