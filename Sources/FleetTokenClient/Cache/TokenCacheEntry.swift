// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// What the cache knows about one subject; where it stands is derived, never stored.
struct TokenCacheEntry: Sendable {
    /// A token and its moments.
    struct Held: Sendable {
        let grant: TokenGrant
        /// From when a newer one is fetched in the background.
        let refreshAt: MonotonicInstant
        /// From when callers wait for a newer one.
        let floorAt: MonotonicInstant
        /// From when it is never handed out.
        let expiresAt: MonotonicInstant
    }

    /// A fetch that is under way.
    struct Flight: Sendable {
        let id: TokenCacheMachine.FlightID
        let startedAt: MonotonicInstant
        var waiters: Set<TokenCacheMachine.CallerID>
    }

    /// Why and until when nothing is fetched.
    struct BackOff: Sendable {
        let failures: Int
        let retryAt: MonotonicInstant
        let error: TokenClientError
    }

    /// A token that the service refused.
    struct Refusal: Sendable {
        let token: FleetToken
        let at: MonotonicInstant
    }

    var held: Held?
    var flight: Flight?
    var backOff: BackOff?
    /// The last refusals, oldest first; bounded by the configuration.
    var refusals: [Refusal] = []
    var lastUse: UInt64 = 0

    func phase(at now: MonotonicInstant) -> TokenCacheMachine.Phase {
        guard let held, now < held.expiresAt else { return self.flight == nil ? .none : .fetching }
        if now < held.refreshAt { return .fresh }
        return now < held.floorAt ? .stale : .expiring
    }

    /// The error to give until the next fetch is allowed, or `nil` when one is.
    func backOffError(at now: MonotonicInstant) -> TokenClientError? {
        guard let backOff, now < backOff.retryAt else { return nil }
        return backOff.error
    }

    /// The best answer without a fetch: a valid token before any error.
    func answer(orElse error: TokenClientError, at now: MonotonicInstant) -> TokenCacheMachine.Outcome {
        guard let held, now < held.expiresAt else { return .failure(error) }
        return .token(held.grant.token)
    }
}
