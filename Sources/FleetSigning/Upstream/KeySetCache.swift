// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Decides when a published key set is fetched and how long it is used; it fetches nothing itself.
///
/// Times are durations since any one moment, on a clock that never goes back.
package struct KeySetCache<Keys: Sendable>: Sendable {
    /// The times by which the cache decides.
    package struct Rules: Sendable {
        /// A set is used at least so long, whatever its `max-age` says.
        package var minimumAge: Duration = .seconds(300)
        /// A set is used at most so long.
        package var maximumAge: Duration = .seconds(86400)
        /// How long a set is used that does not say.
        package var defaultAge: Duration = .seconds(3600)
        /// A set is renewed after a share of its age out of this range, chosen anew for each fetch.
        package var renewal: ClosedRange<Double> = 0.7...0.9
        /// Unknown keys make for one fetch in this time, also while fetches fail.
        package var unknownKeyInterval: Duration = .seconds(30)
        /// The wait after a failed fetch, doubled each time up to ``longestBackoff``.
        package var shortestBackoff: Duration = .seconds(1)
        /// The longest wait after failed fetches.
        package var longestBackoff: Duration = .seconds(60)
        /// So long after its end a set is used while fetches fail.
        package var longestOverrun: Duration = .seconds(86400)

        /// The rules of a set that changes seldom.
        package init() {}
    }

    /// What is to be done for a token that names a key.
    package enum Answer {
        /// Look in these keys.
        case keys(Keys)
        /// Wait for the fetch that is under way, then ask again with `afterFetch`.
        case wait
        /// The key does not exist; refuse.
        case unknownKey
        /// The keys cannot be had now.
        case unavailable
    }

    private struct Kept {
        var keys: Keys
        var fetchedAt: Duration
        var renewsAt: Duration
        var endsAt: Duration
    }

    private let rules: Rules
    private var kept: Kept?
    private var isFetching = false
    private var failures = 0
    private var retriesAt: Duration = .zero
    private var nextFetchForUnknownKey: Duration = .zero

    /// Starts without keys.
    package init(rules: Rules = Rules()) {
        self.rules = rules
    }

    /// What to do for a key.
    ///
    /// - Parameters:
    ///   - time: The time now.
    ///   - afterFetch: Whether the caller has waited for a fetch already; it never waits twice.
    ///   - contains: Whether a set has the key.
    /// - Returns: The answer, and whether a fetch must be started.
    package mutating func look(
        at time: Duration, afterFetch: Bool, contains: (Keys) -> Bool
    ) -> (answer: Answer, startsFetch: Bool) {
        guard let kept, time < kept.endsAt + self.rules.longestOverrun else {
            return self.waiting(at: time, afterFetch: afterFetch)
        }
        // Past its end a set is used only where a fetch was tried and failed.
        if time >= kept.endsAt, self.failures == 0, !afterFetch {
            return self.waiting(at: time, afterFetch: false)
        }
        if contains(kept.keys) {
            return (.keys(kept.keys), time >= kept.renewsAt && self.startsFetch(at: time))
        }
        return self.unknownKey(at: time, afterFetch: afterFetch)
    }

    /// Takes note of fetched keys.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - maximumAge: How long the answer said that they may be used, or `nil` where it did not.
    ///   - time: The time now.
    ///   - share: When to renew, as a share of the age out of ``Rules/renewal``.
    package mutating func fetched(_ keys: Keys, maximumAge: Duration?, at time: Duration, renewingAfter share: Double) {
        let age = min(max(maximumAge ?? self.rules.defaultAge, self.rules.minimumAge), self.rules.maximumAge)
        self.kept = Kept(keys: keys, fetchedAt: time, renewsAt: time + age * share, endsAt: time + age)
        self.isFetching = false
        self.failures = 0
        self.retriesAt = time
    }

    /// Takes note of a fetch that failed; the keys at hand are kept.
    package mutating func fetchFailed(at time: Duration) {
        self.isFetching = false
        self.failures += 1
        let pauses = Backoff(first: self.rules.shortestBackoff, longest: self.rules.longestBackoff)
        self.retriesAt = time + pauses.pause(afterFailures: self.failures)
    }

    /// The set at hand, however old it is; `nil` where there is none.
    package var keys: Keys? { self.kept?.keys }

    /// How long ago the set at hand was fetched; `nil` where there is none.
    package func age(at time: Duration) -> Duration? { self.kept.map { time - $0.fetchedAt } }

    /// How long a set has been used past its end because fetches fail; `nil` where none is.
    package func overrun(at time: Duration) -> Duration? {
        guard let kept, self.failures > 0, time >= kept.endsAt else { return nil }
        return time - kept.endsAt
    }

    private mutating func unknownKey(at time: Duration, afterFetch: Bool) -> (answer: Answer, startsFetch: Bool) {
        // While fetches fail, nobody can say that a key does not exist.
        guard self.failures == 0 else { return (.unavailable, self.startsFetchForUnknownKey(at: time)) }
        guard !afterFetch else { return (.unknownKey, false) }
        if self.isFetching { return (.wait, false) }
        return self.startsFetchForUnknownKey(at: time) ? (.wait, true) : (.unknownKey, false)
    }

    private mutating func startsFetchForUnknownKey(at time: Duration) -> Bool {
        guard time >= self.nextFetchForUnknownKey, self.startsFetch(at: time) else { return false }
        self.nextFetchForUnknownKey = time + self.rules.unknownKeyInterval
        return true
    }

    private mutating func waiting(at time: Duration, afterFetch: Bool) -> (answer: Answer, startsFetch: Bool) {
        guard !afterFetch else { return (.unavailable, false) }
        if self.isFetching { return (.wait, false) }
        return self.startsFetch(at: time) ? (.wait, true) : (.unavailable, false)
    }

    private mutating func startsFetch(at time: Duration) -> Bool {
        guard !self.isFetching, time >= self.retriesAt else { return false }
        self.isFetching = true
        return true
    }
}
