// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokenClient
public import FleetTokens

/// What became of one report of a delivery vehicle.
public struct DeliveryVehicleUpdateEvent: Sendable {
    /// What a report carried.
    public enum Content: Sendable {
        /// The newest location, and how many earlier ones besides.
        case locations(newest: LocationFix?, pastCount: Int)
        /// The stops that are left, as they were sent; empty also when the report failed before they were known. Those of
        /// the engine where a change that was kept is dropped, as its stop is gone.
        case stops([VehicleStop])
        /// How a task ended.
        case taskOutcome(TaskOutcome, of: TaskID)
    }

    /// What the report carried.
    public var content: Content
    /// Whether the engine took it.
    public var outcome: VehicleUpdateEvent.Outcome
    /// How many fixes are still unsent.
    public var unsentCount: Int
    /// How many changes of stops and outcomes of tasks are still unsent, apart from lists of all stops, which are not
    /// kept.
    public var pendingCount: Int
    /// How many fixes were lost since the event before: to the full buffer, because the engine refused them for good, or
    /// because tracking ended without them.
    public var droppedCount: Int
    /// How long the report waited for tokens.
    public var tokenWait: Duration
    /// Whether a change of the stops was lost of which no call tells any more.
    var losesStopChange = false

    /// Makes an event, as for an app's previews and tests.
    public init(
        content: Content,
        outcome: VehicleUpdateEvent.Outcome,
        unsentCount: Int = 0,
        pendingCount: Int = 0,
        droppedCount: Int = 0,
        tokenWait: Duration = .zero
    ) {
        self.content = content
        self.outcome = outcome
        self.unsentCount = unsentCount
        self.pendingCount = pendingCount
        self.droppedCount = droppedCount
        self.tokenWait = tokenWait
    }

    /// The failure, if the report failed.
    public var failure: EngineFailure? {
        if case .failed(let failure) = self.outcome { failure } else { nil }
    }
}
