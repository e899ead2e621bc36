// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetTokens

/// What the cache knows about one subject; where it stands is derived, never stored.
package struct TokenCacheEntry: Sendable {
    /// A token and its moments.
    package struct Held: Sendable {
        package let grant: TokenGrant
        /// From when a newer one is fetched in the background.
        package let refreshAt: MonotonicInstant
        /// From when callers wait a little for a newer one.
        package let floorAt: MonotonicInstant
        /// From when it is never handed out.
        package let expiresAt: MonotonicInstant
    }

    /// A fetch that is under way.
    package struct Flight: Sendable {
        package let id: TokenCacheMachine.FlightID
        package let startedAt: MonotonicInstant
        package var waiters: TokenWaiters
    }

    /// The last token that came from the server, whether it was kept or not.
    package struct Arrival: Sendable {
        package let at: MonotonicInstant
        /// The life that it had then.
        package let life: Duration
    }

    /// Why and until when nothing is fetched.
    package struct BackOff: Sendable {
        package let failures: Int
        package let retryAt: MonotonicInstant
        package let error: TokenClientError

        /// The error, with what is left of the wait where the server asked for one.
        func error(at now: MonotonicInstant) -> TokenClientError {
            guard self.error.retryAfter != nil else { return self.error }
            var error = self.error
            error.retryAfter = max(now.duration(to: self.retryAt), .zero)
            return error
        }
    }

    /// A token that the service refused.
    package struct Refusal: Sendable {
        package let token: FleetToken
        package let at: MonotonicInstant
    }

    package var held: Held?
    package var flight: Flight?
    package var backOff: BackOff?
    package var lastArrival: Arrival?
    /// The last refusals, oldest first; bounded by the configuration.
    package var refusals: [Refusal] = []
    package var lastUse: UInt64 = 0

    func phase(at now: MonotonicInstant) -> TokenCacheMachine.Phase {
        guard let held = self.validHeld(at: now) else { return self.flight == nil ? .none : .fetching }
        if now < held.refreshAt { return .fresh }
        return now < held.floorAt ? .stale : .expiring
    }

    /// The token in hand, unless its life is over.
    func validHeld(at now: MonotonicInstant) -> Held? {
        guard let held, now < held.expiresAt else { return nil }
        return held
    }

    /// The error to give until the next fetch is allowed, or `nil` when one is.
    func backOffError(at now: MonotonicInstant) -> TokenClientError? {
        guard let backOff, now < backOff.retryAt else { return nil }
        return backOff.error(at: now)
    }
}
