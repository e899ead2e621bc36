// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokenClient

/// What became of one report.
public struct VehicleUpdateEvent: Sendable {
    /// Whether the engine took the report.
    public enum Outcome: Sendable {
        /// The engine took it.
        case succeeded
        /// It did not arrive, or was refused; what it held goes out with the next one while tracking is on, but for
        /// fixes that the engine called invalid, which are dropped.
        case failed(EngineFailure)
    }

    /// Whether the engine took the report.
    public var outcome: Outcome
    /// The vehicle state it carried.
    public var state: VehicleState
    /// The newest location it carried, if any.
    public var location: LocationFix?
    /// How many earlier locations it carried besides.
    public var pastLocationCount: Int
    /// How many fixes are still unsent.
    public var unsentCount: Int
    /// How many fixes were lost since the event before: to the full buffer, because the engine refused them for good, or
    /// because tracking ended without them.
    public var droppedCount: Int
    /// How much older the location became because the report waited for a token.
    public var tokenWait: Duration

    /// Makes an event, as for an app's previews and tests.
    public init(
        outcome: Outcome,
        state: VehicleState,
        location: LocationFix? = nil,
        pastLocationCount: Int = 0,
        unsentCount: Int = 0,
        droppedCount: Int = 0,
        tokenWait: Duration = .zero
    ) {
        self.outcome = outcome
        self.state = state
        self.location = location
        self.pastLocationCount = pastLocationCount
        self.unsentCount = unsentCount
        self.droppedCount = droppedCount
        self.tokenWait = tokenWait
    }

    /// The failure, if the report failed.
    public var failure: EngineFailure? {
        if case .failed(let failure) = self.outcome { failure } else { nil }
    }
}
