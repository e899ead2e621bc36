// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens

/// What a delivery vehicle has to report: the state machine of its reporter, without clock or network.
struct DeliveryReportPlan: Sendable {
    private(set) var isTracking = false
    private(set) var fixes: FixBuffer
    /// The stops that were left at the engine's last word about them; `nil` before the first.
    private(set) var knownStops: [VehicleStop]?
    var stopChanges = PendingChanges<StopChange>()
    var outcomes = PendingChanges<TaskOutcomeReport>()

    init(capacity: Int) {
        self.fixes = FixBuffer(capacity: capacity)
    }

    /// How many changes the engine has not taken yet, apart from those that are not kept.
    var pendingCount: Int { self.stopChanges.all.count { !$0.replacesAll } + self.outcomes.count }

    /// The stops that are left when everything is done that is still to be sent.
    var remainingStops: [VehicleStop]? {
        self.knownStops.map { known in
            self.stopChanges.all.reduce(known) { $1.applied(to: $0) }
        }
    }

    // MARK: - Locations

    mutating func startTracking() {
        self.isTracking = true
    }

    /// Says whether tracking was on before.
    mutating func stopTracking() -> Bool {
        defer { self.isTracking = false }
        return self.isTracking
    }

    /// Keeps a fix for the next report; without tracking none is kept.
    mutating func record(_ fix: LocationFix) {
        guard self.isTracking else { return }
        self.fixes.record(fix)
    }

    /// The locations to report now, or `nil` while none is known.
    func nextLocations() -> FixBuffer.Batch? {
        self.isTracking && !self.fixes.isEmpty ? self.fixes.batch(repeatingNewest: true) : nil
    }

    /// The locations that are left at the end of tracking, if any.
    func lastLocations() -> FixBuffer.Batch? {
        self.fixes.unsentCount > 0 ? self.fixes.batch(repeatingNewest: false) : nil
    }

    /// Takes note of what became of locations; what is left when those that end tracking failed is lost.
    mutating func finish(_ batch: FixBuffer.Batch, endsTracking: Bool, _ failure: EngineFailure?) {
        self.fixes.finish(batch, failure)
        if endsTracking, !self.isTracking, failure != nil { self.fixes.forget() }
    }

    mutating func forgetFixes() {
        self.fixes.forget()
    }

    mutating func takeDropped() -> Int { self.fixes.takeDropped() }

    // MARK: - Stops

    /// Takes note of the engine's word about the stops.
    mutating func learn(_ stops: [VehicleStop]) {
        self.knownStops = stops
    }

    /// The change that sets the first stop's state.
    func settingNextStop(to state: VehicleStop.State) throws(DriverError) -> StopChange {
        .set(try self.nextStop(), state)
    }

    /// The change that takes the first stop off the list.
    ///
    /// A stop that was not begun is refused: otherwise, to report a completion once more because it seemed to fail would
    /// complete the stop after it, and close its tasks.
    func completingStop() throws(DriverError) -> StopChange {
        let stop = try self.nextStop()
        guard stop.state == .enroute || stop.state == .arrived else {
            throw DriverError(
                code: .stopNotBegun,
                message: "The next stop is \(stop.state.rawValue); report the way there or the arrival first."
            )
        }
        return .complete(stop)
    }

    /// The change that replaces all stops, of which only the first may be begun.
    static func replacingStops(by stops: [VehicleStop]) throws(DriverError) -> StopChange {
        guard stops.dropFirst().allSatisfy({ $0.state == .new }) else {
            throw DriverError(
                code: .invalidStops, message: "Only the first stop may be begun; the others must be NEW.")
        }
        return .replaceAll(stops)
    }

    /// The list after the changes up to a number, and the task that the newest one is about; `nil` where none is left.
    ///
    /// A change that is of no use any more is taken off, and its caller told. Where nobody waits for it, the error comes
    /// with the list.
    mutating func applyStopChanges(
        upTo number: Int
    ) -> (list: (stops: [VehicleStop], task: TaskID?)?, unheard: DriverError?) {
        var stops = self.knownStops ?? []
        var last: StopChange?
        var unheard: DriverError?
        for (number, change) in self.stopChanges.changes(upTo: number) {
            if change.isVoid(in: stops) {
                let error = DriverError(
                    code: .stopGone, message: "The stop is not on the list any more; read the remaining stops.")
                if self.stopChanges.remove({ $0 == number }, refusal: error) { unheard = error }
            } else {
                stops = change.applied(to: stops)
                last = change
            }
        }
        return (last.map { (stops, $0.task) }, unheard)
    }

    /// Ends a caller's wait for a change, and tells the refusal that came meanwhile, or else why the wait failed.
    ///
    /// A list that did not get through is not kept: later, it would undo what a dispatcher set meanwhile, and close the
    /// tasks that are not in it.
    mutating func endStopWait(_ number: Int, _ failure: (any Error)?) -> (any Error)? {
        if self.stopChanges.change(number)?.replacesAll == true { self.stopChanges.remove { $0 == number } }
        return self.stopChanges.endWait(number, failure)
    }

    private func nextStop() throws(DriverError) -> VehicleStop {
        guard let stop = self.remainingStops?.first else {
            throw DriverError(code: .noRemainingStops, message: "The vehicle has no stop left; set its stops first.")
        }
        return stop
    }
}
