// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// How often something may happen: evenly so many times in a period, with so many at once after a pause.
public struct RateLimit: Hashable, Sendable {
    /// The time that one use takes from the allowance.
    let interval: Duration
    /// How far uses may run ahead of the even rate.
    let allowance: Duration

    /// Describes a limit.
    ///
    /// - Parameters:
    ///   - count: How many uses a period has, 1 to 1,000,000.
    ///   - period: The period, a millisecond to a day.
    ///   - burst: How many may come at once, 1 to 1,000,000; as many as a period has where it is `nil`.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    public init(_ count: Int, per period: Duration, burst: Int? = nil) throws(TokenServerError) {
        let burst = burst ?? count
        guard (1...1_000_000).contains(count), (1...1_000_000).contains(burst),
            (.milliseconds(1) ... .seconds(86400)).contains(period)
        else {
            throw TokenServerError(
                code: .invalidConfiguration,
                message: "A limit needs a count and a burst of 1 to 1000000, and a period of 1 ms to a day."
            )
        }
        self.interval = period / count
        self.allowance = self.interval * (burst - 1)
    }
}

/// A token bucket as one moment: when the even rate would have caught up with all uses so far.
///
/// A bucket that was not used for its whole allowance is as good as new, so forgetting it changes nothing.
struct TokenBucket: Hashable, Sendable {
    private var caughtUpAt: Duration?

    /// How long a use must wait now; zero when it may happen.
    func wait(at time: Duration, limit: RateLimit) -> Duration {
        guard let caughtUpAt else { return .zero }
        return max(.zero, caughtUpAt - limit.allowance - time)
    }

    /// Takes note of a use.
    mutating func take(at time: Duration, limit: RateLimit) {
        self.caughtUpAt = max(self.caughtUpAt ?? time, time) + limit.interval
    }

    /// Forgets a use that was noted before.
    mutating func giveBack(limit: RateLimit) {
        self.caughtUpAt? -= limit.interval
    }
}
