// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

/// An identity provider's keys, fetched when ``KeySetCache`` says so.
final class RemoteKeySet: Sendable {
    private struct State {
        var cache: KeySetCache<UserTokenKeySet>
        var fetch: Task<Void, Never>?
    }

    private let source: KeySetSource
    private let transport: any UpstreamTransport
    private let now: @Sendable () -> Duration
    private let share: @Sendable (ClosedRange<Double>) -> Double
    private let rules: KeySetCache<UserTokenKeySet>.Rules
    private let state: Locked<State>

    init(
        source: KeySetSource, transport: any UpstreamTransport,
        rules: KeySetCache<UserTokenKeySet>.Rules = .init(),
        now: @escaping @Sendable () -> Duration,
        share: @escaping @Sendable (ClosedRange<Double>) -> Double = { Double.random(in: $0) }
    ) {
        self.source = source
        self.transport = transport
        self.now = now
        self.share = share
        self.rules = rules
        self.state = Locked(State(cache: KeySetCache(rules: rules)))
    }

    /// The keys of this id, at least one.
    ///
    /// - Parameter id: The key's id as the token names it.
    /// - Returns: The keys; each fixes its own algorithm.
    /// - Throws: ``CallerRefusal`` for a key that does not exist, ``KeySetError`` when that cannot be known now.
    func keys(named id: String) async throws -> [UserTokenKey] {
        var afterFetch = false
        while true {
            let (answer, fetch) = self.look(for: id, afterFetch: afterFetch)
            switch answer {
            case .keys(let set): return set.keys.filter { $0.id == id }
            case .unknownKey:
                throw CallerRefusal(.unknown, "The user's token names a key that its issuer does not have.")
            case .unavailable: throw KeySetError(message: "The keys of \(self.source) cannot be fetched now.")
            case .wait:
                await fetch?.value
                afterFetch = true
            }
        }
    }

    private func look(
        for id: String, afterFetch: Bool
    ) -> (answer: KeySetCache<UserTokenKeySet>.Answer, fetch: Task<Void, Never>?) {
        self.state.withLock { state in
            let (answer, startsFetch) = state.cache.look(at: self.now(), afterFetch: afterFetch) { $0.contains(id) }
            // Unstructured on purpose: a caller that goes away must not take the others' keys with it.
            if startsFetch { state.fetch = Task { await self.fetch() } }
            return (answer, state.fetch)
        }
    }

    private func fetch() async {
        do {
            let (keys, maximumAge) = try await self.source.fetch(over: self.transport)
            let share = self.share(self.rules.renewal)
            self.state.withLock {
                $0.cache.fetched(keys, maximumAge: maximumAge, at: self.now(), renewingAfter: share)
            }
        } catch {
            self.state.withLock { $0.cache.fetchFailed(at: self.now()) }
        }
    }
}
