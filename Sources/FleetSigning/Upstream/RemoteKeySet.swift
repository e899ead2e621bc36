// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Keys that somebody else publishes, fetched when ``KeySetCache`` says so.
package final class RemoteKeySet<Keys: Sendable>: Sendable {
    /// What was found for a key's id.
    package enum Lookup: Sendable {
        /// A set that has the key.
        case found(Keys)
        /// The publisher has no such key.
        case unknownKey
        /// Whether there is such a key cannot be known now.
        case unavailable
    }

    private struct State {
        var statistics = CacheStatistics()
        var cache: KeySetCache<Keys>
        var fetch: Task<Void, Never>?
        /// Whether somebody's patience has ended with the fetch that is under way.
        var isSlow = false
        var failure: String?
    }

    private let renewal: ClosedRange<Double>
    private let time: TimeSource
    private let share: @Sendable (ClosedRange<Double>) -> Double
    private let fetch: @Sendable () async throws -> (keys: Keys, maximumAge: Duration?)
    private let state: Locked<State>

    /// Follows a set; nothing is fetched before the first key is asked for.
    ///
    /// - Parameters:
    ///   - rules: When to fetch.
    ///   - time: The clock that sets age by.
    ///   - share: Chooses when to renew, as a share of the set's age.
    ///   - fetch: Fetches the set, with the time that it may be used for.
    package init(
        rules: KeySetCache<Keys>.Rules = .init(), time: TimeSource,
        share: @escaping @Sendable (ClosedRange<Double>) -> Double = { Double.random(in: $0) },
        fetch: @escaping @Sendable () async throws -> (keys: Keys, maximumAge: Duration?)
    ) {
        self.renewal = rules.renewal
        self.time = time
        self.share = share
        self.fetch = fetch
        self.state = Locked(State(cache: KeySetCache(rules: rules)))
    }

    /// Why the last fetch failed; `nil` when it did not.
    package var failure: String? { self.state.withLock { $0.failure } }

    /// The set at hand, however old it is; `nil` before the first.
    package var keys: Keys? { self.state.withLock { $0.cache.keys } }

    /// How long ago the set at hand was fetched; `nil` before the first.
    package var age: Duration? { self.state.withLock { $0.cache.age(at: self.time.uptime) } }

    /// How long the set at hand has been used past its end because fetches fail; `nil` where it is not.
    package var overrun: Duration? { self.state.withLock { $0.cache.overrun(at: self.time.uptime) } }

    /// What happened so far.
    package var statistics: CacheStatistics { self.state.withLock { $0.statistics } }

    /// Looks a key up, and waits for one fetch where that may help.
    ///
    /// - Parameters:
    ///   - patience: How long that is waited for at most; once somebody has waited so long, nobody else waits for that
    ///     fetch. `nil` for as long as it takes.
    ///   - contains: Whether a set has the key.
    /// - Returns: What was found.
    package func lookup(patience: Duration? = nil, _ contains: @Sendable (Keys) -> Bool) async -> Lookup {
        var (afterFetch, isOver) = (false, true)
        while true {
            let (answer, fetch) = self.look(afterFetch: afterFetch, contains)
            switch answer {
            case .keys(let keys): return .found(keys)
            // A fetch that goes on may bring it.
            case .unknownKey: return isOver ? .unknownKey : .unavailable
            case .unavailable: return .unavailable
            case .wait:
                if let patience { isOver = await self.isOver(fetch, within: patience) } else { await fetch?.value }
                // Where it takes long, a key at hand is good for as long as it is where fetches fail.
                afterFetch = true
            }
        }
    }

    /// Waits for a fetch with patience, and says whether it is over; not at all where that has ended for another.
    private func isOver(_ fetch: Task<Void, Never>?, within patience: Duration) async -> Bool {
        guard !self.state.withLock({ $0.isSlow }) else { return false }
        do {
            try await self.time.wait(atMost: patience, orThrow: FetchTakesLong()) { await fetch?.value }
            return true
        } catch is FetchTakesLong {
            self.state.withLock { if $0.fetch == fetch { $0.isSlow = true } }
            return false
        } catch {
            return false
        }
    }

    private func look(
        afterFetch: Bool, _ contains: (Keys) -> Bool
    ) -> (answer: KeySetCache<Keys>.Answer, fetch: Task<Void, Never>?) {
        self.state.withLock { state in
            let now = self.time.uptime
            let (answer, startsFetch) = state.cache.look(at: now, afterFetch: afterFetch, contains: contains)
            if !afterFetch {
                if case .wait = answer { state.statistics.misses += 1 } else { state.statistics.hits += 1 }
            }
            // Unstructured on purpose: a caller that goes away must not take the others' keys with it.
            if startsFetch {
                state.isSlow = false
                state.fetch = Task { await self.renew() }
            }
            return (answer, state.fetch)
        }
    }

    private func renew() async {
        do {
            let (keys, maximumAge) = try await self.fetch()
            let share = self.share(self.renewal)
            self.state.withLock {
                $0.cache.fetched(keys, maximumAge: maximumAge, at: self.time.uptime, renewingAfter: share)
                $0.failure = nil
                $0.statistics.fetches += 1
            }
        } catch {
            self.state.withLock {
                $0.statistics.fetches += 1
                $0.statistics.failures += 1
                $0.cache.fetchFailed(at: self.time.uptime)
                $0.failure = "\(error)"
            }
        }
    }
}

/// A fetch takes longer than somebody waits for it.
private struct FetchTakesLong: Error {}
