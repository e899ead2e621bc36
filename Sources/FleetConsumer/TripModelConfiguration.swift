// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// How a model of a trip or a shipment works; every setting has a safe default.
public struct TripModelConfiguration: Sendable {
    /// The shortest and the longest pause between two questions to a healthy engine.
    public static let pollingIntervals: ClosedRange<Duration> = .seconds(1) ... .seconds(60)

    /// The pause between an answer and the next question; values outside ``pollingIntervals`` become the nearest bound.
    public var pollingInterval: Duration {
        didSet { self.pollingInterval = Self.clamped(self.pollingInterval) }
    }
    /// The longest time for one question, tokens and a second attempt included.
    public var timeLimit: Duration
    /// The longest pause while the engine is unavailable, unless its answer's `Retry-After`, or the token server's, asks
    /// for a longer one, which is kept to up to an hour.
    public var longestPause: Duration
    /// How many changes wait for a slow reader, at least 16; the newest are kept.
    public var changeCapacity: Int

    /// Makes a configuration.
    public init(
        pollingInterval: Duration = .seconds(5),
        timeLimit: Duration = .seconds(8),
        longestPause: Duration = .seconds(60),
        changeCapacity: Int = 256
    ) {
        self.pollingInterval = Self.clamped(pollingInterval)
        self.timeLimit = timeLimit
        self.longestPause = longestPause
        self.changeCapacity = changeCapacity
    }

    /// The pause after some consecutive answers that the engine is unavailable.
    ///
    /// - Parameters:
    ///   - failures: How many there were; none gives the polling interval.
    ///   - random: A number from 0 up to 1, which spreads the pause over the upper half of what is allowed.
    /// - Returns: A pause that is never shorter than the polling interval.
    func pause(afterFailures failures: Int, random: Double) -> Duration {
        guard failures > 0 else { return self.pollingInterval }
        let pauses = Backoff(first: self.pollingInterval * 2, longest: self.longestPause)
        return max(self.pollingInterval, pauses.pause(afterFailures: failures, jitter: .upperHalf(random)))
    }

    private static func clamped(_ interval: Duration) -> Duration {
        min(max(interval, self.pollingIntervals.lowerBound), self.pollingIntervals.upperBound)
    }
}
