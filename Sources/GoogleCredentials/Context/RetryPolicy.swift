// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// How often and how long a request to an identity service is tried again.
///
/// Pauses have full jitter: each is anywhere between nothing and a bound that doubles, so that many clients do not
/// come back together. A `Retry-After` in seconds is kept to, or the request given up when it goes past the limit.
public struct RetryPolicy: Hashable, Sendable {
    /// How many times a request is sent at most.
    public var attempts: Int
    /// How long everything may take together, pauses included.
    public var limit: Duration
    /// The bound of the first pause.
    public var firstPause: Duration
    /// The bound that is not passed.
    public var longestPause: Duration
    /// How much of the limit other calls for the same thing have taken.
    var spent = Duration.zero

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - attempts: How many times a request is sent at most; at least once.
    ///   - limit: How long everything may take together.
    ///   - firstPause: The bound of the first pause.
    ///   - longestPause: The bound that is not passed.
    public init(
        attempts: Int = 5, limit: Duration = .seconds(30), firstPause: Duration = .milliseconds(250),
        longestPause: Duration = .seconds(8)
    ) {
        self.attempts = max(attempts, 1)
        self.limit = limit
        self.firstPause = firstPause
        self.longestPause = longestPause
    }

    /// The pause before another attempt.
    ///
    /// - Parameters:
    ///   - failures: How many attempts failed, at least one.
    ///   - retryAfter: What the service asked for.
    ///   - random: Between 0 and 1.
    /// - Returns: How long to wait.
    func pause(afterFailures failures: Int, retryAfter: Duration?, random: Double) -> Duration {
        let pauses = Backoff(first: self.firstPause, longest: self.longestPause)
        return (retryAfter ?? .zero) + pauses.pause(afterFailures: failures, jitter: .full(random))
    }
}
