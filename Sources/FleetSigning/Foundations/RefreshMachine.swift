// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// One value that is renewed before it ends: events in, decisions out.
struct RefreshMachine<Value: Sendable>: Sendable {
    /// What becomes of a caller.
    enum Decision: Sendable {
        /// The caller has the value at once.
        case serve(Value, startsRefresh: Bool)
        /// The caller waits for the refresh that is under way, or that it starts.
        case wait(startsRefresh: Bool)
        /// The last refresh failed a moment ago and there is nothing to serve.
        case fail(any Error)
    }

    private struct Entry: Sendable {
        let value: Value
        let refreshAt: Duration
        let waitAt: Duration
        let endsAt: Duration
        let fetchedAt: Duration
    }

    private let windows: RefreshWindows
    private var entry: Entry?
    private var failures = 0
    private var lastError: any Error = EndedOnArrival()
    /// No refresh starts before this moment.
    private var pausedUntil: Duration = .zero
    private(set) var isRefreshing = false

    init(windows: RefreshWindows) {
        self.windows = windows
    }

    /// Whether nothing would be lost by forgetting the value.
    func isIdle(at now: Duration) -> Bool {
        !self.isRefreshing && self.value(at: now) == nil && now >= self.pausedUntil
    }

    /// The value, while it has not ended.
    func value(at now: Duration) -> Value? {
        self.entry.flatMap { now < $0.endsAt ? $0.value : nil }
    }

    /// A caller asks for the value.
    mutating func ask(at now: Duration) -> Decision {
        let mayStart = !self.isRefreshing && now >= self.pausedUntil
        if let entry, now < entry.waitAt {
            let starts = mayStart && now >= entry.refreshAt
            if starts { self.isRefreshing = true }
            return .serve(entry.value, startsRefresh: starts)
        }
        if mayStart { self.isRefreshing = true }
        if self.isRefreshing { return .wait(startsRefresh: mayStart) }
        if let value = self.value(at: now) { return .serve(value, startsRefresh: false) }
        return .fail(self.remembered(at: now))
    }

    /// The last error, with how long it will be told instead of another attempt.
    private func remembered(at now: Duration) -> any Error {
        guard var error = self.lastError as? any PausedFailure else { return self.lastError }
        error.pause = self.pausedUntil - now
        return error
    }

    /// A refresh brought a value.
    ///
    /// - Parameters:
    ///   - value: The new value.
    ///   - endsAt: When it ends.
    ///   - now: The present.
    ///   - random: Between 0 and 1, for the jitter.
    mutating func succeed(_ value: Value, endingAt endsAt: Duration, at now: Duration, random: Double) {
        guard endsAt > now else { return self.fail(EndedOnArrival(), at: now, random: random) }
        self.isRefreshing = false
        self.failures = 0
        let entry = Entry(
            value: value,
            refreshAt: endsAt - self.windows.advisory + self.windows.jitter * random,
            waitAt: endsAt - self.windows.mandatory,
            endsAt: endsAt,
            fetchedAt: now
        )
        self.entry = entry
        // A source that hands out values near their end is not asked again at once.
        self.pausedUntil = now >= entry.refreshAt ? min(now + self.windows.longestPause, endsAt) : now
    }

    /// The value turned out to be good for nothing before its end.
    ///
    /// One that was fetched within the longest pause stays: a source that gives such values again and again is not asked
    /// for more each time.
    mutating func discard(at now: Duration) {
        guard let entry, now - entry.fetchedAt >= self.windows.longestPause else { return }
        self.entry = nil
        self.pausedUntil = now
    }

    /// The value ends earlier than was thought, and is renewed before the next caller has it.
    ///
    /// - Parameters:
    ///   - now: The present.
    ///   - isUseless: Whether it is good for nothing, also where no other can be had.
    mutating func renew(at now: Duration, isUseless: Bool) {
        guard let entry else { return }
        guard !isUseless else {
            self.entry = nil
            // The pause after a value that was near its end ends with the value; one after a failure stays.
            if self.failures == 0 { self.pausedUntil = now }
            return
        }
        self.entry = Entry(
            value: entry.value, refreshAt: min(entry.refreshAt, now), waitAt: min(entry.waitAt, now),
            endsAt: entry.endsAt, fetchedAt: entry.fetchedAt)
    }

    /// A refresh failed; a value that has not ended stays.
    mutating func fail(_ error: any Error, at now: Duration, random: Double) {
        self.isRefreshing = false
        self.lastError = error
        // Nothing was tried, as what the value is made from failed a moment ago; both are due again together.
        if let pause = (error as? any PausedFailure)?.pause {
            self.pausedUntil = now + min(pause, self.windows.longestPause)
            return
        }
        self.failures += 1
        let pauses = Backoff(first: self.windows.firstPause, longest: self.windows.longestPause)
        self.pausedUntil = now + pauses.pause(afterFailures: self.failures, jitter: .upperHalf(random))
    }
}

/// An error that tells when it was remembered from an attempt of before.
package protocol PausedFailure: Error {
    /// How long it will be told instead of another attempt; `nil` where it is that of an attempt.
    var pause: Duration? { get set }
}

/// A value that had ended before it was there.
struct EndedOnArrival: PausedFailure, CustomStringConvertible {
    var pause: Duration?
    var description: String { "What was fetched had ended before it arrived; its source gives it too little life." }
}
