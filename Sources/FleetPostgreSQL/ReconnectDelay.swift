// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// When the next attempt to connect is due, after some that failed.
struct ReconnectDelay {
    private static let pauses = Backoff(first: .milliseconds(50), longest: .seconds(2))

    private var failures = 0
    private var refusal: (error: PostgreSQLError, until: ContinuousClock.Instant)?

    /// The error to answer with instead of an attempt; `nil` when one is due.
    func refusal(at now: ContinuousClock.Instant) -> PostgreSQLError? {
        guard let refusal, now < refusal.until else { return nil }
        return refusal.error
    }

    /// How long it is until the next attempt is due.
    func left(at now: ContinuousClock.Instant) -> Duration {
        self.refusal.map { max(.zero, $0.until - now) } ?? .zero
    }

    /// Takes note of an attempt that failed; the next is due after a time that doubles, with a share left to chance.
    mutating func failed(_ error: PostgreSQLError, at now: ContinuousClock.Instant, chance: Double) {
        self.failures += 1
        self.refusal = (error, now + Self.pauses.pause(afterFailures: self.failures, jitter: .upperHalf(chance)))
    }

    /// Takes note of a connection.
    mutating func succeeded() {
        self = Self()
    }
}
