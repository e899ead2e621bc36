// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient

/// What is to be reported: the state machine of a reporter, without clock or network.
struct ReportPlan: Sendable {
    private(set) var isTracking = false
    /// The state that the vehicle shall have.
    private(set) var state = VehicleState.offline
    private let capacity: Int
    /// The state that the engine is known to have.
    private var confirmed = VehicleState.offline
    private var newest: LocationFix?
    private var unsent: [LocationFix] = []
    /// The number of the first unsent fix, counted from the first one ever recorded.
    private var firstUnsent = 0
    private var dropped = 0

    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    var unsentCount: Int { self.unsent.count }

    // MARK: - What the driver does

    mutating func startTracking() {
        self.isTracking = true
    }

    /// Says whether tracking was on before.
    mutating func stopTracking() -> Bool {
        defer {
            self.isTracking = false
            self.state = .offline
        }
        return self.isTracking
    }

    mutating func set(_ state: VehicleState) throws(DriverError) {
        guard state == .offline || self.isTracking else {
            throw DriverError(
                code: .trackingDisabled,
                message: "The vehicle cannot go online while location tracking is off; start tracking first."
            )
        }
        self.state = state
    }

    /// Keeps a fix for the next report; without tracking none is kept.
    mutating func record(_ fix: LocationFix) {
        guard self.isTracking else { return }
        self.newest = fix
        self.unsent.append(fix)
        self.removeOldest(max(0, self.unsent.count - self.capacity), counted: true)
    }

    // MARK: - What goes out

    /// The report for now, or `nil` while there is nothing to say.
    func nextReport() -> VehicleReport? {
        guard self.isTracking, self.newest != nil || self.state != self.confirmed else { return nil }
        return self.report(self.state, last: self.unsent.last ?? self.newest)
    }

    /// The one report that ends tracking.
    func lastReport() -> VehicleReport {
        self.report(.offline, last: self.unsent.last, endsTracking: true)
    }

    private func report(_ state: VehicleState, last: LocationFix?, endsTracking: Bool = false) -> VehicleReport {
        VehicleReport(
            state: state,
            last: last,
            past: self.unsent.dropLast(),
            end: self.firstUnsent + self.unsent.count,
            endsTracking: endsTracking
        )
    }

    /// Takes note of what became of a report.
    mutating func finish(_ report: VehicleReport, _ failure: EngineFailure?) {
        let carried = max(0, report.end - self.firstUnsent)
        switch failure?.code {
        case nil:
            self.confirmed = report.state
            self.removeOldest(carried, counted: false)
        case .invalidArgument:
            // The same fixes would be refused again, and everything behind them would wait for ever.
            self.removeOldest(carried, counted: true)
        default: break
        }
        if report.endsTracking, !self.isTracking {
            self.removeOldest(self.unsent.count, counted: true)
            self.newest = nil
        }
    }

    /// How many fixes were lost since this was last asked.
    mutating func takeDropped() -> Int {
        defer { self.dropped = 0 }
        return self.dropped
    }

    private mutating func removeOldest(_ count: Int, counted: Bool) {
        self.unsent.removeFirst(count)
        self.firstUnsent += count
        if counted { self.dropped += count }
    }
}
