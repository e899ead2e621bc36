// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Pauses that double with each failure in a row, up to a longest one.
package struct Backoff: Sendable {
    /// How much of a pause is left to chance, so that many who failed together do not come back together; each with a
    /// random number from 0 to 1.
    package enum Jitter: Sendable {
        case none
        /// Between half of it and the whole.
        case upperHalf(Double)
        /// Between nothing and the whole.
        case full(Double)
    }

    /// The pause after the first failure, before chance.
    package let first: Duration
    /// What no pause exceeds.
    package let longest: Duration

    /// Describes pauses.
    package init(first: Duration, longest: Duration) {
        self.first = first
        self.longest = longest
    }

    /// The pause before another attempt.
    ///
    /// - Parameters:
    ///   - failures: How many attempts in a row failed, at least one.
    ///   - jitter: How much is left to chance.
    /// - Returns: How long to wait.
    package func pause(afterFailures failures: Int, jitter: Jitter = .none) -> Duration {
        // Doubled 30 times, a millisecond is twelve days.
        let whole = min(self.first * (1 << min(max(failures, 1) - 1, 30)), self.longest)
        return switch jitter {
        case .none: whole
        case .upperHalf(let random): whole * (0.5 + random / 2)
        case .full(let random): whole * random
        }
    }
}
