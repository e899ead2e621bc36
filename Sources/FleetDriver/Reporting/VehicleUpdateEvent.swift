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
    /// How many fixes were lost since the event before, to the full buffer or because the engine refused them for good.
    public var droppedCount: Int
    /// How much older the location became because the report waited for a token.
    public var tokenWait: Duration

    /// The failure, if the report failed.
    public var failure: EngineFailure? {
        if case .failed(let failure) = self.outcome { failure } else { nil }
    }
}
