// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient

/// What is to be reported: the state machine of a reporter, without clock or network.
struct ReportPlan: Sendable {
    private(set) var isTracking = false
    /// The state that the vehicle shall have.
    private(set) var state = VehicleState.offline
    /// The state that the engine is known to have; `nil` while that may be another: at first, one from before this
    /// reporter, and later one that it took without a word.
    private var confirmed: VehicleState?
    /// Whether the driver ever set a state, which the engine is to know then even where no location goes with it.
    private var isStateSet = false
    private var fixes: FixBuffer

    init(capacity: Int) {
        self.fixes = FixBuffer(capacity: capacity)
    }

    var unsentCount: Int { self.fixes.unsentCount }

    /// Whether the engine is to be told a state that it may not have.
    var isStateDue: Bool { self.isStateSet && self.state != self.confirmed }

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
        self.isStateSet = true
    }

    /// Keeps a fix for the next report; without tracking none is kept.
    mutating func record(_ fix: LocationFix) {
        guard self.isTracking else { return }
        self.fixes.record(fix)
    }

    // MARK: - What goes out

    /// The report for now, or `nil` while there is nothing to say.
    func nextReport() -> VehicleReport? {
        guard self.isTracking, self.isStateDue || !self.fixes.isEmpty else { return nil }
        return VehicleReport(state: self.state, fixes: self.fixes.batch(repeatingNewest: true), endsTracking: false)
    }

    /// What sets a vehicle offline while tracking is off, or `nil` while the engine is known to have it so.
    func offlineReport() -> VehicleReport? {
        guard !self.isTracking, self.confirmed != .offline else { return nil }
        return self.lastReport()
    }

    /// The report that ends tracking; after a long backlog, one of several.
    func lastReport() -> VehicleReport {
        VehicleReport(state: .offline, fixes: self.fixes.batch(repeatingNewest: false), endsTracking: true)
    }

    /// Takes note that a report goes out, of which nobody may hear what became.
    mutating func noteSending(_ report: VehicleReport) {
        if report.state != self.confirmed { self.confirmed = nil }
    }

    /// Takes note of what became of a report.
    mutating func finish(_ report: VehicleReport, _ failure: EngineFailure?) {
        if failure == nil { self.confirmed = report.state }
        self.fixes.finish(report.fixes, failure)
        let isOver = failure != nil || self.unsentCount == 0
        if report.endsTracking, !self.isTracking, isOver { self.fixes.forget() }
    }

    /// How many fixes were lost since this was last asked.
    mutating func takeDropped() -> Int { self.fixes.takeDropped() }
}
