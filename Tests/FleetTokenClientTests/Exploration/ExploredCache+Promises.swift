// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens

// What the observer knows must be what the machine knows, or some call is forgotten or some state is lost.
extension ExploredCache {
    mutating func compare(_ index: Int) {
        if self.machine.count > self.settings.configuration.capacity { self.violate("more subjects than the capacity") }
        // Whoever had to make room is forgotten with everything that was known.
        for other in self.observed.indices where other != index && self.observed[other].lastUse > 0 {
            if self.machine.entries[self.settings.subjects[other]] == nil { self.forget(other) }
        }
        guard let entry = self.machine.entries[self.settings.subjects[index]] else { return self.forget(index) }
        self.compare(self.observed[index], with: entry)
        self.observed[index].lastUse = entry.lastUse
        self.observed[index].key = self.key(of: index, entry)
    }

    private mutating func forget(_ index: Int) {
        if !self.observed[index].waiting.isEmpty { self.violate("calls that wait for a forgotten subject") }
        if self.observed[index].flight != nil { self.violate("a fetch for a forgotten subject") }
        self.observed[index] = Observed()
    }

    private mutating func compare(_ observed: Observed, with entry: TokenCacheEntry) {
        let configuration = self.settings.configuration
        if observed.flight != entry.flight?.id { self.violate("a fetch that one side has lost") }
        let waiters = (entry.flight?.waiters.callers.count ?? 0) + (entry.flight?.waiters.lives.count ?? 0)
        if observed.waiting.count != waiters { self.violate("a stranded call") }
        if observed.hasLostPatience, observed.flight != nil, observed.waiting.contains(where: { $0.life == nil }),
            observed.token != nil, self.now < observed.expiresAt
        {
            self.violate("a call that waits on although there is a valid token")
        }
        if let token = observed.token, self.now < observed.expiresAt, entry.held?.grant.token != token {
            self.violate("a valid token was lost")
        }
        if let held = entry.held, held.refreshAt > held.floorAt || held.floorAt > held.expiresAt {
            self.violate("the moments of a token out of order")
        }
        if entry.refusals.count > configuration.refusalsPerMinute { self.violate("too many refusals remembered") }
        let longest = max(configuration.backOffCap, configuration.retryAfterLimit, .seconds(60))
        if let backOff = entry.backOff, self.now.advanced(by: longest) < backOff.retryAt {
            self.violate("a back-off without end")
        }
    }

    // MARK: - Time

    /// Passes whole ticks up to the next moment at which anything changes.
    mutating func jump() -> Bool {
        var next: MonotonicInstant?
        for subject in self.settings.subjects {
            guard let entry = self.machine.entries[subject] else { continue }
            let moments = [
                entry.held?.refreshAt, entry.held?.floorAt, entry.held?.expiresAt, entry.backOff?.retryAt,
                entry.flight?.startedAt.advanced(by: self.settings.configuration.patience),
                entry.flight?.startedAt.advanced(by: self.settings.configuration.fetchTimeout),
                entry.refusals.first?.at.advanced(by: .seconds(60)),
            ]
            for case let moment? in moments where moment > self.now { next = min(moment, next ?? moment) }
        }
        guard let next else { return false }
        var ticks = 0
        while self.now.advanced(by: ExploredSettings.tick * ticks) < next { ticks += 1 }
        return self.pass(ticks: ticks)
    }

    // MARK: - Probes

    /// What must hold in each state: nothing late has an effect, and a good answer leads to a token.
    ///
    /// - Parameter probed: The standings of remembered subjects that were probed before; nothing else decides there.
    /// - Returns: What does not hold, if anything.
    func probe(except probed: inout Set<UInt64>) -> String? {
        for index in self.observed.indices {
            let isRemembered = self.machine.entries[self.settings.subjects[index]] != nil
            if isRemembered, !probed.insert(self.observed[index].key).inserted { continue }
            if let failure = self.probeLateEvents(index) ?? self.probeWayOut(index) { return failure }
        }
        return nil
    }

    private func probeLateEvents(_ index: Int) -> String? {
        let subject = self.settings.subjects[index]
        let observed = self.observed[index]
        var events: [Machine.Event] = [.cancelled(subject, .init(0))]
        if let stranger = self.settings.tokens.first(where: { $0 != observed.token }) {
            events.append(.invalidated(subject, stranger))
        }
        if let token = observed.token, self.now >= observed.expiresAt { events.append(.invalidated(subject, token)) }
        if let flight = observed.ended,
            let grant = self.settings.grant(.good, unlike: observed.token, observed.refused)
        {
            let error = TokenClientError(code: .unreachable, message: "too late")
            events += [
                .restored(flight, grant), .fetched(flight, grant), .failed(flight, error), .patienceEnded(flight),
                .deadlinePassed(flight, awaiting: .server),
            ]
        }
        var other = self
        for event in events where !other.machine.handle(event, at: self.now).isEmpty {
            return "a late event has an effect: \(event)"
        }
        other.compare(index)
        return other.key == self.key ? nil : "a late event changes the state"
    }

    /// Asks at the end of any back-off and answers well: the caller must get a token, whatever happened before.
    private func probeWayOut(_ index: Int) -> String? {
        var other = self
        if other.observed[index].waiting.isEmpty {
            let retryAt = other.machine.entries[self.settings.subjects[index]]?.backOff?.retryAt
            other.now = max(other.now, retryAt ?? other.now)
            _ = other.request(index)
        }
        let isFull = self.machine.entries[self.settings.subjects[index]] == nil && other.observed[index].flight == nil
        if isFull { return other.violation }
        if other.observed[index].waiting.isEmpty {
            return other.violation ?? (other.observed[index].token == nil ? "no token, and no fetch" : nil)
        }
        // An answer that comes much too late is none: then the wake-up, a new call and a new answer.
        if other.now >= other.observed[index].deadline {
            _ = other.take(ExploredStep(kind: .timeOut, subject: UInt8(index)))
            return other.violation ?? other.probeWayOut(index)
        }
        _ = other.take(ExploredStep(kind: .good, subject: UInt8(index)))
        if let violation = other.violation { return violation }
        return other.observed[index].waiting.isEmpty && other.observed[index].token != nil
            ? nil : "a good answer does not help"
    }
}
