// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

extension TokenCacheMachine {
    /// Takes a token that was kept from an earlier run; the fetch goes on unless nobody needs it any more.
    mutating func restore(_ id: FlightID, _ grant: TokenGrant, at now: MonotonicInstant) -> [Action] {
        guard var entry = self.entries[id.subject], let flight = entry.flight, flight.id == id else { return [] }
        let expiresAt = flight.startedAt.advanced(by: grant.life)
        guard now < expiresAt, !entry.hasRefused(grant.token), entry.validHeld(at: now) == nil else { return [] }
        let held = self.hold(grant, from: flight.startedAt, until: expiresAt, at: now)
        entry.held = held

        let life = now.duration(to: expiresAt)
        var actions: [Action] = [.notify(.restored(id.subject, fingerprint: grant.fingerprint, life: life))]
        var waiting = flight.waiters
        actions += self.serve(&waiting, from: entry, of: id.subject, at: now)
        entry.flight?.waiters = waiting
        if waiting.isEmpty, now < held.refreshAt {
            entry.flight = nil
            actions.append(.stopFetch(id))
        }
        self.entries[id.subject] = entry
        return actions
    }

    mutating func land(_ id: FlightID, _ grant: TokenGrant, at now: MonotonicInstant) -> [Action] {
        guard var entry = self.entries[id.subject], let flight = entry.flight, flight.id == id else { return [] }
        guard !entry.hasRefused(grant.token) else {
            let error = TokenClientError(
                code: .invalidAnswer,
                message: "The token server sent token \(grant.fingerprint) again, which the service has refused; "
                    + "it must mint a new one."
            )
            return self.fail(id, error, at: now)
        }
        var expiresAt = flight.startedAt.advanced(by: grant.life)
        let old = entry.validHeld(at: now)
        // What was learned first about a token stands: an answer from a cache may promise more than there is.
        if let old, old.grant.token == grant.token { expiresAt = min(expiresAt, old.expiresAt) }
        guard now < expiresAt else {
            let error = TokenClientError(
                code: .expired,
                message: "Token \(grant.fingerprint) had no life left when it arrived; "
                    + "check the token server's clock, and that nothing caches its answers."
            )
            return self.fail(id, error, at: now)
        }
        let life = now.duration(to: expiresAt)
        entry.lastArrival = TokenCacheEntry.Arrival(at: now, life: life)
        if let old, old.grant.token != grant.token, old.expiresAt >= expiresAt {
            return self.keep(old, insteadOf: grant, life: life, in: entry, id, at: now)
        }
        let held = self.hold(grant, from: flight.startedAt, until: expiresAt, at: now)
        let isFirst = entry.held == nil
        entry.held = held
        entry.flight = nil
        entry.backOff = self.backOffAfterSuccess(held, entry, at: now)
        self.entries[id.subject] = entry

        var actions: [Action] = [
            .notify(
                isFirst
                    ? .fetched(id.subject, fingerprint: grant.fingerprint, life: life)
                    : .refreshed(id.subject, fingerprint: grant.fingerprint, life: life)),
            .save(id.subject, grant.token, life: life),
        ]
        var waiting = flight.waiters
        let callers = waiting.takeCallers()
        // However short it is: there is none that is better.
        if !callers.isEmpty { actions.append(.resume(callers, .token(grant.token, life: life))) }
        actions += self.serve(&waiting, from: entry, of: id.subject, at: now)
        actions += Self.refuseImpossibleLives(of: &waiting, from: entry, at: now)
        return actions
    }

    /// Keeps the token in hand because it outlives the new one; for the next fetch, this one failed.
    private mutating func keep(
        _ old: TokenCacheEntry.Held, insteadOf grant: TokenGrant, life: Duration, in entry: TokenCacheEntry,
        _ id: FlightID, at now: MonotonicInstant
    ) -> [Action] {
        var entry = entry
        var actions: [Action] = []
        if var waiting = entry.flight?.waiters {
            actions = Self.refuseImpossibleLives(of: &waiting, from: entry, at: now)
            entry.flight?.waiters = waiting
        }
        self.entries[id.subject] = entry
        let error = TokenClientError(
            code: .expired,
            message: "The token server sent token \(grant.fingerprint) with \(life) left, less than the "
                + "\(now.duration(to: old.expiresAt)) of the one in hand, which is kept; check what the server caches."
        )
        return actions + self.fail(id, error, at: now)
    }

    /// Serves those who waited long enough for a newer token than the one in hand; the fetch goes on.
    mutating func endPatience(_ id: FlightID, at now: MonotonicInstant) -> [Action] {
        guard var entry = self.entries[id.subject], let flight = entry.flight, flight.id == id else { return [] }
        var waiting = flight.waiters
        let actions = self.serve(&waiting, from: entry, of: id.subject, at: now)
        entry.flight?.waiters = waiting
        self.entries[id.subject] = entry
        return actions
    }

    mutating func fail(_ id: FlightID, _ error: TokenClientError, at now: MonotonicInstant) -> [Action] {
        guard var entry = self.entries[id.subject], let flight = entry.flight, flight.id == id else { return [] }
        entry.flight = nil
        let backOff = self.backOff(after: error, following: entry.backOff, at: now)
        entry.backOff = backOff
        self.entries[id.subject] = entry
        let error = backOff.error(at: now)
        return [.notify(.failed(id.subject, error))]
            + Self.end(flight.waiters, with: error, from: entry, of: id.subject, at: now)
    }
}

// MARK: - When to fetch again

extension TokenCacheMachine {
    private mutating func hold(
        _ grant: TokenGrant, from start: MonotonicInstant, until expiresAt: MonotonicInstant, at now: MonotonicInstant
    ) -> TokenCacheEntry.Held {
        let floorAt = expiresAt.advanced(by: .zero - self.configuration.minimumLife)
        // However early a refresh is wanted, not at once again: half of what there is, a minute at most.
        let earliest = now.advanced(by: min(Self.shortWindow, now.duration(to: floorAt) / 2))
        let refreshAt: MonotonicInstant
        if let refreshAfter = grant.refreshAfter {
            refreshAt = max(earliest, start.advanced(by: refreshAfter))
        } else {
            let windowStart = max(earliest, expiresAt.advanced(by: .zero - self.configuration.refreshBefore))
            let window = windowStart.duration(to: floorAt)
            refreshAt = windowStart.advanced(by: window * Double.random(in: 0..<Self.spread, using: &self.random))
        }
        return TokenCacheEntry.Held(
            grant: grant, refreshAt: min(refreshAt, floorAt), floorAt: floorAt, expiresAt: expiresAt)
    }

    /// A token that is too short already is used, but the next one is fetched only after a wait, as if this had failed.
    private mutating func backOffAfterSuccess(
        _ held: TokenCacheEntry.Held, _ entry: TokenCacheEntry, at now: MonotonicInstant
    ) -> TokenCacheEntry.BackOff? {
        guard now.duration(to: held.floorAt) < Self.shortWindow else { return nil }
        let error = TokenClientError(
            code: .expired,
            message: "The token server sent a token with \(now.duration(to: held.expiresAt)) left; "
                + "it should live at least \(self.configuration.minimumLife + Self.shortWindow)."
        )
        return self.backOff(after: error, following: entry.backOff, at: now)
    }

    /// Exponential back-off with full jitter, and never sooner than the server asked for.
    private mutating func backOff(
        after error: TokenClientError, following last: TokenCacheEntry.BackOff?, at now: MonotonicInstant
    ) -> TokenCacheEntry.BackOff {
        let failures = (last?.failures ?? 0) + 1
        let pauses = Backoff(first: self.configuration.backOffBase, longest: self.configuration.backOffCap)
        let jittered = pauses.pause(
            afterFailures: failures, jitter: .full(Double.random(in: 0..<1, using: &self.random)))
        let asked = min(error.retryAfter ?? .zero, self.configuration.retryAfterLimit)
        return TokenCacheEntry.BackOff(
            failures: failures, retryAt: now.advanced(by: max(jittered, asked)), error: error)
    }
}

extension TokenCacheMachine {
    /// Lets the next call fetch at once, except after refusals by the service; a failure then is followed by a pause that
    /// goes on growing.
    ///
    /// A fetch under way may fail for what was so before, so that the pauses begin anew with its failure.
    mutating func liftPauses(at now: MonotonicInstant) {
        for (subject, entry) in self.entries {
            guard let backOff = entry.backOff else { continue }
            let isHeld = backOff.error.code == .excessiveRefresh
            self.entries[subject]?.backOff = TokenCacheEntry.BackOff(
                failures: entry.flight == nil ? backOff.failures : 0,
                retryAt: isHeld ? backOff.retryAt : min(now, backOff.retryAt), error: backOff.error)
        }
    }
}

// MARK: - Refusals by the service

extension TokenCacheMachine {
    mutating func invalidate(_ token: FleetToken, of subject: TokenSubject, at now: MonotonicInstant) -> [Action] {
        // A token whose life is over says nothing about the service, which may not even have been asked.
        guard var entry = self.entries[subject], let held = entry.validHeld(at: now), held.grant.token == token else {
            return []
        }
        entry.held = nil
        let limit = self.configuration.refusalsPerMinute
        let minuteAgo = now.advanced(by: .seconds(-60))
        let recent = entry.refusals.filter { $0.at > minuteAgo }
        if recent.count >= limit, let oldest = recent.first {
            let retryAt = oldest.at.advanced(by: .seconds(60))
            entry.backOff = TokenCacheEntry.BackOff(
                failures: entry.backOff?.failures ?? 0,
                retryAt: max(retryAt, entry.backOff?.retryAt ?? retryAt),
                error: TokenClientError(
                    code: .excessiveRefresh,
                    message: "The service refused \(limit + 1) new tokens within a minute; "
                        + "look at its reasons (key, role, claims, clock) before asking for more."
                )
            )
        }
        entry.refusals = entry.refusals.suffix(limit - 1) + [TokenCacheEntry.Refusal(token: token, at: now)]
        self.entries[subject] = entry
        return [.notify(.refused(subject, fingerprint: held.grant.fingerprint)), .discard(subject)]
    }
}

extension TokenCacheEntry {
    fileprivate func hasRefused(_ token: FleetToken) -> Bool {
        self.refusals.contains { $0.token == token }
    }
}
