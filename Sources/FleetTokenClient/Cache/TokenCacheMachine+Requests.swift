// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

extension TokenCacheMachine {
    /// Answers from what is in hand who can be, and has the others wait for a fetch.
    mutating func request(_ subject: TokenSubject, _ newcomers: TokenWaiters, at now: MonotonicInstant) -> [Action] {
        guard !self.isClosed else { return [Self.refuse(newcomers)] }
        guard var actions = self.makeRoom(for: subject) else {
            let error = TokenClientError(
                code: .rateLimited,
                message:
                    "All \(self.configuration.capacity) subjects in the cache have callers waiting; raise capacity.",
                retryAfter: self.configuration.fetchTimeout
            )
            return [.resume(newcomers.callers.union(newcomers.lives.keys), .failure(error))]
        }
        self.uses += 1
        // Taken out, so that adding to its many waiters does not copy them.
        var entry = self.entries.removeValue(forKey: subject) ?? TokenCacheEntry()
        entry.lastUse = self.uses
        var waiting = newcomers
        if let flight = entry.flight, now >= flight.startedAt.advanced(by: self.configuration.fetchTimeout) {
            // The device slept past the deadline and this call came before the wake-up: begin again for everybody.
            actions.append(.stopFetch(flight.id))
            waiting.formUnion(flight.waiters)
            entry.flight = nil
        }
        let askedForToken = !waiting.callers.isEmpty
        actions += self.serve(&waiting, from: entry, of: subject, at: now)
        actions += Self.refuseImpossibleLives(of: &waiting, from: entry, at: now)
        let isRefreshDue = askedForToken && [.stale, .expiring].contains(entry.phase(at: now))

        if entry.flight != nil {
            entry.flight?.waiters.formUnion(waiting)
        } else if let error = entry.backOffError(at: now) {
            actions += Self.end(waiting, with: error, from: entry, of: subject, at: now)
        } else if isRefreshDue || !waiting.isEmpty {
            actions.append(self.start(subject, for: waiting, in: &entry, at: now))
        }
        self.entries[subject] = entry
        return actions
    }

    private mutating func start(
        _ subject: TokenSubject, for waiters: TokenWaiters, in entry: inout TokenCacheEntry, at now: MonotonicInstant
    ) -> Action {
        self.flights += 1
        let id = FlightID(subject: subject, number: self.flights)
        entry.flight = TokenCacheEntry.Flight(id: id, startedAt: now, waiters: waiters)
        let timeout = self.configuration.fetchTimeout
        return .startFetch(
            id, patienceEnds: now.advanced(by: min(self.configuration.patience, timeout)),
            deadline: now.advanced(by: timeout))
    }

    /// Drops the least recently used subject for which nobody waits, if a place is needed; `nil` when there is none.
    private mutating func makeRoom(for subject: TokenSubject) -> [Action]? {
        guard self.entries[subject] == nil, self.entries.count >= self.configuration.capacity else { return [] }
        let idle = self.entries.filter { $0.value.flight?.waiters.isEmpty ?? true }
        guard let victim = idle.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return nil }
        self.entries[victim.key] = nil
        return victim.value.flight.map { [.stopFetch($0.id)] } ?? []
    }
}

// MARK: - The end

extension TokenCacheMachine {
    /// Forgets everything and ends every call; what fetches still bring is for nobody.
    mutating func close() -> [Action] {
        self.isClosed = true
        defer { self.entries = [:] }
        return self.entries.values.compactMap(\.flight).flatMap { [.stopFetch($0.id), Self.refuse($0.waiters)] }
    }

    private static func refuse(_ waiters: TokenWaiters) -> Action {
        let error = TokenClientError(
            code: .refused, message: "This token provider is closed; make another one after the next sign-in.")
        return .resume(waiters.callers.union(waiters.lives.keys), .failure(error))
    }
}

// MARK: - Answers

extension TokenCacheMachine {
    /// Ends the calls that the token in hand is good for.
    func serve(
        _ waiting: inout TokenWaiters, from entry: TokenCacheEntry, of subject: TokenSubject, at now: MonotonicInstant
    ) -> [Action] {
        guard let held = entry.validHeld(at: now) else { return [] }
        let life = now.duration(to: held.expiresAt)
        let outcome = Outcome.token(held.grant.token, life: life)
        var actions: [Action] = []
        // Below the minimum life, callers wait only while the server can be believed to answer soon: once a fetch has failed
        // or takes long, a wait would delay each call for nothing, by as much as a fetch may take.
        if now < held.floorAt || entry.backOff != nil || self.isSlow(entry.flight, at: now) {
            let callers = waiting.takeCallers()
            if !callers.isEmpty {
                actions.append(.resume(callers, outcome))
                if now >= held.refreshAt { actions.append(Self.servedStale(subject, held, at: now)) }
            }
        }
        let satisfied = waiting.takeLives { $0 <= life }
        if !satisfied.isEmpty { actions.append(.resume(Set(satisfied.keys), outcome)) }
        return actions
    }

    private func isSlow(_ flight: TokenCacheEntry.Flight?, at now: MonotonicInstant) -> Bool {
        guard let flight else { return false }
        return now >= flight.startedAt.advanced(by: self.configuration.patience)
    }

    /// Ends the calls that want more life than tokens have, or than the server gave just now.
    ///
    /// Without this, a life that the server does not give would be one fetch per call.
    static func refuseImpossibleLives(
        of waiting: inout TokenWaiters, from entry: TokenCacheEntry, at now: MonotonicInstant
    ) -> [Action] {
        let last = entry.lastArrival
        let isRecent = last.map { now < $0.at.advanced(by: Self.lifeMemory) } ?? false
        let limit = isRecent ? min(last?.life ?? Self.longestLife, Self.longestLife) : Self.longestLife
        return waiting.takeLives { $0 > limit }.map { caller, life in
            var message = "A token that lives \(life) cannot be had: "
            if life > Self.longestLife { message += "the engine takes none that ends more than an hour ahead. " }
            if let last { message += "The last one had \(last.life) left when it came. " }
            message += "Ask for less, or have the token server mint longer ones."
            return .resume([caller], .failure(TokenClientError(code: .lifeUnavailable, message: message)))
        }
    }

    /// Ends calls because of an error; a valid token goes before it.
    static func end(
        _ waiters: TokenWaiters, with error: TokenClientError, from entry: TokenCacheEntry, of subject: TokenSubject,
        at now: MonotonicInstant
    ) -> [Action] {
        var actions: [Action] = []
        if !waiters.lives.isEmpty { actions.append(.resume(Set(waiters.lives.keys), .failure(error))) }
        guard !waiters.callers.isEmpty else { return actions }
        guard let held = entry.validHeld(at: now) else { return actions + [.resume(waiters.callers, .failure(error))] }
        return actions + [
            .resume(waiters.callers, .token(held.grant.token, life: now.duration(to: held.expiresAt))),
            Self.servedStale(subject, held, at: now),
        ]
    }

    private static func servedStale(
        _ subject: TokenSubject, _ held: TokenCacheEntry.Held, at now: MonotonicInstant
    ) -> Action {
        let life = now.duration(to: held.expiresAt)
        return .notify(.servedStale(subject, fingerprint: held.grant.fingerprint, life: life))
    }
}
