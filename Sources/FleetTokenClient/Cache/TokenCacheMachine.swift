// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetTokens

/// The client's token cache without its surroundings: events go in, actions come out.
///
/// It reads no clock, starts nothing, and every random choice follows from its seed. Its promises hold for any order
/// of events, as long as the instants do not go back:
/// one fetch per subject; every call ends once; a valid token is never hidden by an error; nothing expired is handed
/// out; no state that a good answer does not lead out of.
package struct TokenCacheMachine: Sendable {
    /// A token that reaches its floor within this time of its arrival counts as too short to fetch again at once.
    private static let shortWindow = Duration.seconds(60)
    /// The part of the refresh window over which refreshes spread; the rest is kept for fetching without a caller waiting.
    private static let spread = 0.8

    private let configuration: TokenCacheConfiguration
    private var random: SplitMix64
    private var entries: [TokenSubject: TokenCacheEntry] = [:]
    private var uses: UInt64 = 0
    private var flights: UInt64 = 0

    /// Starts with nothing cached.
    ///
    /// - Parameters:
    ///   - configuration: The rules; validated by the caller.
    ///   - seed: What every random choice follows from.
    package init(configuration: TokenCacheConfiguration, seed: UInt64) {
        self.configuration = configuration
        self.random = SplitMix64(seed: seed)
    }

    /// How many subjects are remembered.
    package var count: Int { self.entries.count }

    /// Where a subject stands.
    package func phase(of subject: TokenSubject, at now: MonotonicInstant) -> Phase {
        self.entries[subject]?.phase(at: now) ?? .none
    }

    /// The token of a fresh subject, or `nil` when ``handle(_:at:)`` must decide; the path that is taken nearly always.
    package mutating func freshToken(for subject: TokenSubject, at now: MonotonicInstant) -> FleetToken? {
        guard let index = self.entries.index(forKey: subject), let held = self.entries.values[index].held,
            now < held.refreshAt
        else { return nil }
        self.uses += 1
        self.entries.values[index].lastUse = self.uses
        return held.grant.token
    }

    /// Takes in one event.
    ///
    /// - Parameters:
    ///   - event: What happened.
    ///   - now: When it happened.
    /// - Returns: What is to be done, in this order.
    package mutating func handle(_ event: Event, at now: MonotonicInstant) -> [Action] {
        switch event {
        case .requested(let subject, let caller): return self.request(subject, caller, at: now)
        case .cancelled(let subject, let caller):
            guard self.entries[subject]?.flight?.waiters.remove(caller) != nil else { return [] }
            return [.resume([caller], .cancelled)]
        case .fetched(let id, let grant): return self.land(id, grant, at: now)
        case .failed(let id, let error): return self.fail(id, error, at: now)
        case .deadlinePassed(let id):
            let error = TokenClientError(
                code: .timedOut,
                message: "The token server did not answer within \(self.configuration.fetchTimeout)."
            )
            let actions = self.fail(id, error, at: now)
            return actions.isEmpty ? [] : [.stopFetch(id)] + actions
        case .invalidated(let subject, let token): return self.invalidate(token, of: subject, at: now)
        }
    }
}

// MARK: - Requests

extension TokenCacheMachine {
    private mutating func request(_ subject: TokenSubject, _ caller: CallerID, at now: MonotonicInstant) -> [Action] {
        guard var actions = self.makeRoom(for: subject) else {
            let error = TokenClientError(
                code: .rateLimited,
                message:
                    "All \(self.configuration.capacity) subjects in the cache have callers waiting; raise capacity.",
                retryAfter: self.configuration.fetchTimeout
            )
            return [.resume([caller], .failure(error))]
        }
        self.uses += 1
        // Taken out, so that adding to its many waiters does not copy them.
        var entry = self.entries.removeValue(forKey: subject) ?? TokenCacheEntry()
        entry.lastUse = self.uses
        var callers: Set = [caller]
        if let flight = entry.flight, now >= flight.startedAt.advanced(by: self.configuration.fetchTimeout) {
            // The device slept past the deadline and this call came before the wake-up: begin again for everybody.
            actions.append(.stopFetch(flight.id))
            callers.formUnion(flight.waiters)
            entry.flight = nil
        }
        let backOffError = entry.backOffError(at: now)
        let mayServe = [.fresh, .stale].contains(entry.phase(at: now))

        if mayServe, let held = entry.held {
            actions.append(.resume(callers, .token(held.grant.token)))
            if now >= held.refreshAt { actions.append(Self.servedStale(subject, held, at: now)) }
            if now >= held.refreshAt, entry.flight == nil, backOffError == nil {
                actions.append(self.start(subject, for: [], in: &entry, at: now))
            }
        } else if entry.flight != nil {
            entry.flight?.waiters.insert(caller)
        } else if let backOffError {
            actions.append(.resume(callers, entry.answer(orElse: backOffError, at: now)))
            if let held = entry.held, now < held.expiresAt { actions.append(Self.servedStale(subject, held, at: now)) }
        } else {
            actions.append(self.start(subject, for: callers, in: &entry, at: now))
        }
        self.entries[subject] = entry
        return actions
    }

    private mutating func start(
        _ subject: TokenSubject, for waiters: Set<CallerID>, in entry: inout TokenCacheEntry, at now: MonotonicInstant
    ) -> Action {
        self.flights += 1
        let id = FlightID(subject: subject, number: self.flights)
        entry.flight = TokenCacheEntry.Flight(id: id, startedAt: now, waiters: waiters)
        return .startFetch(id, deadline: now.advanced(by: self.configuration.fetchTimeout))
    }

    /// Drops the least recently used subject for which nobody waits, if a place is needed; `nil` when there is none.
    private mutating func makeRoom(for subject: TokenSubject) -> [Action]? {
        guard self.entries[subject] == nil, self.entries.count >= self.configuration.capacity else { return [] }
        let idle = self.entries.filter { $0.value.flight?.waiters.isEmpty ?? true }
        guard let victim = idle.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return nil }
        self.entries[victim.key] = nil
        return victim.value.flight.map { [.stopFetch($0.id)] } ?? []
    }

    private static func servedStale(
        _ subject: TokenSubject, _ held: TokenCacheEntry.Held, at now: MonotonicInstant
    ) -> Action {
        let life = now.duration(to: held.expiresAt)
        return .notify(.servedStale(subject, fingerprint: held.grant.fingerprint, life: life))
    }
}

// MARK: - Outcomes of a fetch

extension TokenCacheMachine {
    private mutating func land(_ id: FlightID, _ grant: TokenGrant, at now: MonotonicInstant) -> [Action] {
        guard var entry = self.entries[id.subject], let flight = entry.flight, flight.id == id else { return [] }
        guard !entry.refusals.contains(where: { $0.token == grant.token }) else {
            let error = TokenClientError(
                code: .invalidAnswer,
                message: "The token server sent token \(grant.fingerprint) again, which the service has refused; "
                    + "it must mint a new one."
            )
            return self.fail(id, error, at: now)
        }
        let expiresAt = flight.startedAt.advanced(by: grant.life)
        guard now < expiresAt else {
            let error = TokenClientError(
                code: .expired,
                message: "Token \(grant.fingerprint) had no life left when it arrived; "
                    + "check the token server's clock, and that nothing caches its answers."
            )
            return self.fail(id, error, at: now)
        }
        let held = self.hold(grant, from: flight.startedAt, until: expiresAt, at: now)
        entry.held = held
        entry.flight = nil
        entry.backOff = self.backOffAfterSuccess(held, entry, at: now)
        self.entries[id.subject] = entry

        let life = now.duration(to: expiresAt)
        var actions: [Action] = [.notify(.fetched(id.subject, fingerprint: grant.fingerprint, life: life))]
        if !flight.waiters.isEmpty { actions.append(.resume(flight.waiters, .token(grant.token))) }
        return actions
    }

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

    private mutating func fail(_ id: FlightID, _ error: TokenClientError, at now: MonotonicInstant) -> [Action] {
        guard var entry = self.entries[id.subject], let flight = entry.flight, flight.id == id else { return [] }
        entry.flight = nil
        entry.backOff = self.backOff(after: error, following: entry.backOff, at: now)
        self.entries[id.subject] = entry

        var actions: [Action] = [.notify(.failed(id.subject, error))]
        guard !flight.waiters.isEmpty else { return actions }
        actions.append(.resume(flight.waiters, entry.answer(orElse: error, at: now)))
        if let held = entry.held, now < held.expiresAt { actions.append(Self.servedStale(id.subject, held, at: now)) }
        return actions
    }

    /// Exponential back-off with full jitter, and never sooner than the server asked for.
    private mutating func backOff(
        after error: TokenClientError, following last: TokenCacheEntry.BackOff?, at now: MonotonicInstant
    ) -> TokenCacheEntry.BackOff {
        let failures = (last?.failures ?? 0) + 1
        let ceiling = min(self.configuration.backOffCap, self.configuration.backOffBase * (1 << min(failures - 1, 20)))
        let jittered = ceiling * Double.random(in: 0..<1, using: &self.random)
        let asked = min(error.retryAfter ?? .zero, self.configuration.retryAfterLimit)
        return TokenCacheEntry.BackOff(
            failures: failures, retryAt: now.advanced(by: max(jittered, asked)), error: error)
    }
}

// MARK: - Refusals by the service

extension TokenCacheMachine {
    private mutating func invalidate(
        _ token: FleetToken, of subject: TokenSubject, at now: MonotonicInstant
    ) -> [Action] {
        guard var entry = self.entries[subject], let held = entry.held, held.grant.token == token else { return [] }
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
        return [.notify(.invalidated(subject, fingerprint: held.grant.fingerprint))]
    }
}
