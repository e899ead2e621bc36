// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens

/// A cache and all that its surroundings can know about it, at one moment.
struct ExploredCache: Sendable {
    typealias Machine = TokenCacheMachine

    /// A call that has not ended.
    struct Call: Sendable {
        let number: UInt64
        /// How long the token shall live, if that is what was asked.
        let life: Duration?
    }

    /// What an observer knows of one subject, from events and actions alone.
    struct Observed: Sendable {
        var flight: Machine.FlightID?
        /// A fetch that is over, whose answer may still come.
        var ended: Machine.FlightID?
        var deadline = MonotonicInstant()
        /// Whether the fetch has looked for a token from an earlier run.
        var hasRestored = false
        /// Whether the first wake-up of the fetch went off.
        var hasLostPatience = false
        var waiting: [Call] = []
        /// The last token that arrived in time and was not refused.
        var token: FleetToken?
        var floorAt = MonotonicInstant()
        var expiresAt = MonotonicInstant()
        /// The life that the last token from the server had when it came.
        var lastLife: Duration?
        var refused: [FleetToken] = []
        /// Whether the last fetch failed or brought too short a token.
        var isTroubled = false
        /// What the server's last `Retry-After` allows.
        var retryAt = MonotonicInstant()
        /// The order of uses, and the number that stands for all the machine knows here.
        var lastUse: UInt64 = 0
        var key: UInt64 = 0
    }

    let settings: ExploredSettings
    var machine: Machine
    var now = MonotonicInstant()
    var observed: [Observed]
    private(set) var violation: String?
    private var calls: UInt64 = 0

    init(_ settings: ExploredSettings) {
        self.settings = settings
        self.machine = Machine(configuration: settings.configuration, seed: 0)
        self.observed = Array(repeating: Observed(), count: settings.subjects.count)
    }

    mutating func violate(_ what: String) {
        self.violation = self.violation ?? what
    }

    // MARK: - Steps

    /// Lets something happen; `false` when it cannot happen now.
    mutating func take(_ step: ExploredStep) -> Bool {
        let index = Int(step.subject)
        self.machine.random =
            step.kind == .goodLate || step.kind == .failLate ? self.settings.late : self.settings.early
        switch step.kind {
        case .request: return self.request(index)
        case .ensure: return self.ensure(ExploredSettings.tick * 5, index)
        case .ensureTooLong: return self.ensure(ExploredSettings.tick * 20, index)
        case .restore: return self.restore(index)
        case .cancel: return self.cancel(index)
        case .good, .goodLate, .goodWithMoment, .short, .tiny, .over: return self.land(step.kind, index)
        case .same: return self.landSame(index)
        case .refusedAgain: return self.landRefused(index)
        case .fail, .failLate: return self.fail(index, retryAfter: nil)
        case .failWithMoment: return self.fail(index, retryAfter: ExploredSettings.tick * 2)
        case .losePatience: return self.losePatience(index)
        case .timeOut: return self.timeOut(index)
        case .refuse: return self.refuse(index)
        case .tick: return self.pass(ticks: 1)
        case .jump: return self.jump()
        }
    }

    mutating func request(_ index: Int) -> Bool {
        guard self.observed[index].waiting.count < self.settings.waiters else { return false }
        let subject = self.settings.subjects[index]
        self.calls += 1
        self.observed[index].waiting.append(Call(number: self.calls, life: nil))
        // The short way must give nothing that the long way does not.
        if let token = self.machine.freshToken(for: subject, at: self.now) { self.check(token, index) }
        self.feed(.requested(subject, .init(self.calls)), index)
        return true
    }

    private mutating func ensure(_ life: Duration, _ index: Int) -> Bool {
        guard self.observed[index].waiting.count < self.settings.waiters else { return false }
        self.calls += 1
        self.observed[index].waiting.append(Call(number: self.calls, life: life))
        self.feed(.ensured(self.settings.subjects[index], .init(self.calls), life: life), index)
        return true
    }

    private mutating func cancel(_ index: Int) -> Bool {
        guard let call = self.observed[index].waiting.first?.number else { return false }
        self.feed(.cancelled(self.settings.subjects[index], .init(call)), index, cancelling: call)
        if self.observed[index].waiting.contains(where: { $0.number == call }) {
            self.violate("a cancelled call goes on waiting")
        }
        return true
    }

    private mutating func land(_ kind: ExploredStep.Kind, _ index: Int) -> Bool {
        guard let flight = self.observed[index].flight,
            let grant = self.settings.grant(
                kind, unlike: self.observed[index].token, self.observed[index].refused)
        else { return false }
        let expiresAt = self.startOfFlight(index).advanced(by: grant.life)
        self.noteLife(until: expiresAt, index)
        let hasBetter = self.observed[index].token != nil && self.observed[index].expiresAt >= expiresAt
        self.land(flight, grant, until: hasBetter ? nil : expiresAt, index)
        return true
    }

    /// The server sends what is in hand; the moment that was learned first stands.
    private mutating func landSame(_ index: Int) -> Bool {
        guard let flight = self.observed[index].flight, let token = self.observed[index].token,
            let grant = self.settings.grant(.same, with: token)
        else { return false }
        var expiresAt = self.startOfFlight(index).advanced(by: grant.life)
        if self.now < self.observed[index].expiresAt { expiresAt = min(expiresAt, self.observed[index].expiresAt) }
        self.noteLife(until: expiresAt, index)
        self.land(flight, grant, until: expiresAt, index)
        return true
    }

    private mutating func noteLife(until expiresAt: MonotonicInstant, _ index: Int) {
        if self.now < expiresAt { self.observed[index].lastLife = self.now.duration(to: expiresAt) }
    }

    private mutating func land(
        _ flight: Machine.FlightID, _ grant: TokenGrant, until expiresAt: MonotonicInstant?, _ index: Int
    ) {
        self.endFlight(index)
        self.observed[index].isTroubled = true
        if let expiresAt, self.now < expiresAt {
            self.hold(grant.token, until: expiresAt, index)
            self.observed[index].isTroubled = self.now.duration(to: self.observed[index].floorAt) < .seconds(60)
        }
        self.observed[index].retryAt = self.now
        self.feed(.fetched(flight, grant), index)
    }

    private mutating func restore(_ index: Int) -> Bool {
        guard let flight = self.observed[index].flight, !self.observed[index].hasRestored,
            let grant = self.settings.grant(
                .restore, unlike: self.observed[index].token, self.observed[index].refused)
        else { return false }
        let expiresAt = self.startOfFlight(index).advanced(by: grant.life)
        self.observed[index].hasRestored = true
        let hasNone = self.observed[index].token == nil || self.now >= self.observed[index].expiresAt
        if hasNone, self.now < expiresAt { self.hold(grant.token, until: expiresAt, index) }
        self.feed(.restored(flight, grant), index)
        return true
    }

    private mutating func hold(_ token: FleetToken, until expiresAt: MonotonicInstant, _ index: Int) {
        self.observed[index].token = token
        self.observed[index].expiresAt = expiresAt
        self.observed[index].floorAt = expiresAt.advanced(by: .zero - self.settings.configuration.minimumLife)
    }

    private func startOfFlight(_ index: Int) -> MonotonicInstant {
        self.observed[index].deadline.advanced(by: .zero - self.settings.configuration.fetchTimeout)
    }

    private mutating func landRefused(_ index: Int) -> Bool {
        guard let flight = self.observed[index].flight, let token = self.observed[index].refused.last,
            let grant = self.settings.grant(.refusedAgain, with: token)
        else { return false }
        self.endFlight(index)
        self.observed[index].isTroubled = true
        self.feed(.fetched(flight, grant), index)
        return true
    }

    private mutating func fail(_ index: Int, retryAfter: Duration?) -> Bool {
        guard let flight = self.observed[index].flight else { return false }
        self.endFlight(index)
        self.observed[index].isTroubled = true
        self.observed[index].retryAt = self.now.advanced(by: retryAfter ?? .zero)
        let error = TokenClientError(code: .unreachable, message: "as told", retryAfter: retryAfter)
        self.feed(.failed(flight, error), index)
        return true
    }

    private mutating func losePatience(_ index: Int) -> Bool {
        guard let flight = self.observed[index].flight, !self.observed[index].hasLostPatience, self.isSlow(index) else {
            return false
        }
        self.observed[index].hasLostPatience = true
        self.feed(.patienceEnded(flight), index)
        if self.observed[index].flight != flight { self.violate("a fetch ended for want of patience") }
        return true
    }

    /// Whether the fetch under way takes longer than callers wait.
    private func isSlow(_ index: Int) -> Bool {
        guard self.observed[index].flight != nil else { return false }
        return self.now >= self.startOfFlight(index).advanced(by: self.settings.configuration.patience)
    }

    private mutating func timeOut(_ index: Int) -> Bool {
        guard let flight = self.observed[index].flight, self.now >= self.observed[index].deadline else { return false }
        self.observed[index].isTroubled = true
        self.observed[index].retryAt = self.now
        self.feed(.deadlinePassed(flight, awaiting: .server), index)
        if self.observed[index].flight == flight { self.violate("a fetch outlived its deadline") }
        return true
    }

    private mutating func refuse(_ index: Int) -> Bool {
        guard let token = self.observed[index].token, self.now < self.observed[index].expiresAt else { return false }
        self.observed[index].token = nil
        self.observed[index].refused = self.observed[index].refused.suffix(1) + [token]
        self.feed(.invalidated(self.settings.subjects[index], token), index)
        return true
    }

    mutating func pass(ticks: Int) -> Bool {
        self.now = self.now.advanced(by: ExploredSettings.tick * ticks)
        for index in self.observed.indices {
            guard let entry = self.machine.entries[self.settings.subjects[index]] else { continue }
            self.observed[index].key = self.key(of: index, entry)
        }
        return true
    }

    private mutating func endFlight(_ index: Int) {
        self.observed[index].ended = self.observed[index].flight
        self.observed[index].flight = nil
    }
}

// MARK: - Actions

extension ExploredCache {
    /// Hands an event over and holds each action against what may be done.
    mutating func feed(_ event: Machine.Event, _ index: Int, cancelling cancelled: UInt64? = nil) {
        let before = self.machine.entries[self.settings.subjects[index]]?.backOff
        let answers = self.machine.handle(event, at: self.now)
        for action in answers {
            switch action {
            case .startFetch(let flight, let patienceEnds, let deadline):
                if patienceEnds != self.now.advanced(by: self.settings.configuration.patience) {
                    self.violate("a fetch with another patience")
                }
                self.begin(flight, until: deadline, before)
            case .stopFetch(let flight): self.stop(flight)
            case .resume(let calls, let outcome):
                for call in calls { self.end(call.number, outcome, index, cancelling: cancelled) }
            case .save, .discard, .notify: break
            }
        }
        self.compare(index)
    }

    private mutating func begin(
        _ flight: Machine.FlightID, until deadline: MonotonicInstant, _ backOff: TokenCacheEntry.BackOff?
    ) {
        guard let index = self.settings.subjects.firstIndex(of: flight.subject) else {
            return self.violate("a fetch for a subject that nobody asked for")
        }
        if self.observed[index].flight != nil { self.violate("a second fetch for one subject") }
        if self.now < self.observed[index].retryAt { self.violate("a fetch before the server allows one") }
        if let backOff, self.now < backOff.retryAt { self.violate("a fetch during the back-off") }
        if deadline != self.now.advanced(by: self.settings.configuration.fetchTimeout) {
            self.violate("a fetch with another deadline")
        }
        self.observed[index].flight = flight
        self.observed[index].deadline = deadline
        self.observed[index].hasRestored = false
        self.observed[index].hasLostPatience = false
    }

    private mutating func stop(_ flight: Machine.FlightID) {
        guard let index = self.observed.firstIndex(where: { $0.flight == flight }) else {
            return self.violate("the stop of a fetch that does not run")
        }
        self.endFlight(index)
    }

    private mutating func end(_ call: UInt64, _ outcome: Machine.Outcome, _ index: Int, cancelling cancelled: UInt64?) {
        guard let position = self.observed[index].waiting.firstIndex(where: { $0.number == call }) else {
            return self.violate("the end of a call that has ended")
        }
        let life = self.observed[index].waiting.remove(at: position).life
        switch outcome {
        case .token(let token, let left): self.check(token, index, living: left, atLeast: life)
        case .failure(let error): self.check(error, index, forLife: life)
        case .cancelled: if call != cancelled { self.violate("the cancellation of another call") }
        }
    }

    private mutating func check(
        _ token: FleetToken, _ index: Int, living left: Duration? = nil, atLeast life: Duration? = nil
    ) {
        let observed = self.observed[index]
        if let left, left != self.now.duration(to: observed.expiresAt) { self.violate("a token with another life") }
        if let life, let left, left < life { self.violate("a token that lives less than was asked for") }
        guard token == observed.token else { return self.violate("a token that is refused, replaced or unknown") }
        if self.now >= observed.expiresAt { self.violate("an expired token") }
        if life == nil, self.now >= observed.floorAt, !observed.isTroubled, !self.isSlow(index),
            !self.isPausedByRefusals(index)
        {
            self.violate("a token below the minimum life while the server answers")
        }
    }

    /// Whether nothing may be fetched because the service refused too many tokens.
    private func isPausedByRefusals(_ index: Int) -> Bool {
        self.machine.entries[self.settings.subjects[index]]?.backOff?.error.code == .excessiveRefresh
    }

    private mutating func check(_ error: TokenClientError, _ index: Int, forLife life: Duration?) {
        let observed = self.observed[index]
        if let life {
            if error.code == .lifeUnavailable, life <= observed.lastLife ?? ExploredSettings.goodLife {
                self.violate("a life that the server gives was called unavailable")
            }
        } else if observed.token != nil, self.now < observed.expiresAt {
            self.violate("an error that hides a valid token")
        }
        let isFull = self.machine.entries[self.settings.subjects[index]] == nil
        let mayFail =
            observed.isTroubled || error.code == .excessiveRefresh || error.code == .lifeUnavailable
            || (isFull && error.code == .rateLimited)
        if !mayFail { self.violate("an error without a cause") }
    }
}
