// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens

/// What the reporters of both kinds of vehicle do alike: a report at each interval, and one exchange at a time.
protocol LocationReporting: Actor {
    associatedtype Report: Sendable

    var pace: ReportPace { get set }
    var reportingInterval: Duration { get }
    /// How many fixes the engine does not have yet.
    var unsentCount: Int { get }

    func startTracking()
    func stopTracking() async
    /// Sends what is left to be said when tracking has ended.
    func sendLast() async
    func setReportingInterval(_ interval: Duration)
    func record(_ fix: LocationFix)
    /// Sends a report now, unless one is on its way.
    func reportNow() async
    /// Sends a report behind whatever is on its way.
    func reportInTurn() async
    /// Sends a report and takes note of what became of it.
    ///
    /// - Returns: Why it was not taken, or `CancellationError`.
    func send(_ report: Report) async -> (any Error)?
}

/// When the next report is due, and what is on its way.
struct ReportPace: Sendable {
    let time: MonotonicTime
    fileprivate var next: MonotonicInstant
    fileprivate(set) var exchange: Task<(any Error)?, Never>?
    fileprivate var ending: Task<Void, Never>?

    init(_ time: MonotonicTime) {
        self.time = time
        self.next = time.now
    }
}

extension LocationReporting {
    /// Reports the locations of a source, at once for the first and then at each interval, until the source ends.
    ///
    /// - Parameters:
    ///   - source: Where the locations come from.
    ///   - endsTracking: Whether tracking ends with the source, whose last locations go with its last report then.
    /// - Throws: What the source throws, or `CancellationError` when the calling task was cancelled.
    func report(from source: some LocationSource, endsTracking: Bool = false) async throws {
        self.putOffNextReport()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                do {
                    try await self.recordAll(of: source, endingTracking: endsTracking)
                } catch {
                    if !Task.isCancelled { await self.comeToRest() }
                    throw error
                }
                try Task.checkCancellation()
                // The end of the source cuts off no report that is on its way.
                await self.comeToRest()
            }
            group.addTask { try await self.reportAtIntervals() }
            defer { group.cancelAll() }
            try await group.next()
        }
        try Task.checkCancellation()
        // A long backlog takes several reports; one that does not get through is the last.
        var before = Int.max
        while self.unsentCount > 0, self.unsentCount < before {
            before = self.unsentCount
            await self.reportInTurn()
        }
        try Task.checkCancellation()
    }

    /// Records all that a source yields, while the first location is reported: what a source keeps back for a slow
    /// reader it may drop.
    ///
    /// Tracking ends right with the source, so that a first location that waits in its turn goes with the last report.
    private func recordAll(of source: some LocationSource, endingTracking endsTracking: Bool) async throws {
        var fixes = source.makeAsyncIterator()
        guard let first = try await fixes.next() else {
            try Task.checkCancellation()
            if endsTracking { await self.stopTracking() }
            return
        }
        self.record(first)
        let (begun, beginning) = AsyncStream.makeStream(of: Never.self)
        async let report: Void = self.reportFirst(beginning)
        for await _ in begun {}
        do {
            while let fix = try await fixes.next() { self.record(fix) }
            try Task.checkCancellation()
        } catch {
            // To leave before its end would cut it off.
            await report
            throw error
        }
        if endsTracking { await self.stopTracking() }
        await report
    }

    /// Reports the first location alone, unless something is on its way.
    private func reportFirst(_ beginning: AsyncStream<Never>.Continuation) async {
        // Who waits for this goes on when this turn of the actor is over, in which the report begins.
        beginning.finish()
        await self.reportInTurn()
    }

    func putOffNextReport() {
        self.pace.next = self.pace.time.now.advanced(by: self.reportingInterval)
    }

    private func reportAtIntervals() async throws {
        while true {
            try Task.checkCancellation()
            if self.pace.time.now < self.pace.next {
                try await self.pace.time.sleep(until: self.pace.next)
            } else {
                await self.reportNow()
            }
        }
    }

    /// Sends what is last, even when the calling task is cancelled, and returns when that is done, whoever began it.
    ///
    /// - Parameter isEnd: Whether tracking ended with this call.
    func comeToEnd(_ isEnd: Bool) async {
        if isEnd { self.pace.ending = Task { await self.sendLast() } }
        await self.pace.ending?.value
    }

    // MARK: - Exchanges

    /// Waits until nothing is on its way.
    func comeToRest() async {
        while let exchange = self.pace.exchange { _ = await exchange.value }
    }

    /// Waits until nothing is on its way, or throws at once when the calling task is cancelled.
    func comeToRestUnlessCancelled() async throws {
        while let exchange = self.pace.exchange {
            try await firstOutcome(of: { _ = await exchange.value }, orAfter: { nil }).get()
        }
        try Task.checkCancellation()
    }

    /// Starts an exchange; nothing may be on its way.
    ///
    /// It is a task of its own, so that the end of tracking can wait for it.
    func begin(_ report: Report) -> Task<(any Error)?, Never> {
        let task = Task {
            let failure = await self.send(report)
            self.pace.exchange = nil
            return failure
        }
        self.pace.exchange = task
        return task
    }

    /// Makes an exchange, which ends with the calling task; nothing may be on its way.
    @discardableResult
    func exchange(_ report: Report) async -> (any Error)? {
        let task = self.begin(report)
        return await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
