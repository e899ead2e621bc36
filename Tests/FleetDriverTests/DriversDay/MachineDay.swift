// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens

/// A driver's day played on the cache's state machine, with a reporter's rules, an engine and a token server round it.
///
/// Reports on a fresh token ask for nothing and change nothing, so the day passes over them in one step up to the next
/// event; `skips: false` plays each.
struct MachineDay {
    private enum Event: Sendable {
        case report
        case secondTry(TokenSubject, since: Duration)
        case answer(TokenCacheMachine.FlightID, expiresAt: Duration)
        case failure(TokenCacheMachine.FlightID, retryAfter: Duration?)
        case losePatience(TokenCacheMachine.FlightID)
        case wakeUp(TokenCacheMachine.FlightID)
        case giveUp(TokenCacheMachine.CallerID)
        case switchVehicle, refuseOnce
        case sleep(Duration)
        /// Something begins or ends.
        case boundary
    }

    private struct Waiting {
        let asking: DayObserver.Asking
        /// When the report began, perhaps with another token.
        let since: Duration
    }

    private(set) var observer: DayObserver

    private let day: DriversDay
    private let skips: Bool
    private let subjects: [TokenSubject]
    private var world: SeededWorld<Event>
    private var machine: TokenCacheMachine
    private var current = 0
    private var calls: UInt64 = 0
    private var waiting: [TokenCacheMachine.CallerID: Waiting] = [:]
    /// The fetches under way, and when they began.
    private var open: [TokenCacheMachine.FlightID: Duration] = [:]
    private var tokens = 0
    private var refusesNext = false

    init(_ day: DriversDay, subjects: [TokenSubject], skips: Bool = true) {
        self.day = day
        self.skips = skips
        self.subjects = subjects
        self.observer = DayObserver(day)
        self.world = SeededWorld(seed: day.seed)
        self.machine = TokenCacheMachine(configuration: TokenCacheConfiguration(), seed: self.world.random.next())
    }

    private var now: MonotonicInstant { MonotonicInstant(sinceOrigin: self.world.now) }

    /// Plays the day to its end.
    mutating func run() {
        for spell in self.day.spells {
            self.world.schedule(.boundary, after: spell.from)
            self.world.schedule(.boundary, after: spell.until)
        }
        for moment in self.day.switches {
            self.world.schedule(.switchVehicle, after: moment)
            self.world.schedule(.switchVehicle, after: moment + .milliseconds(100))
        }
        for moment in self.day.refusals { self.world.schedule(.refuseOnce, after: moment) }
        for sleep in self.day.sleeps { self.world.schedule(.sleep(sleep.length), after: sleep.at) }
        self.world.schedule(.report, after: .zero)
        while let event = self.world.next() {
            self.observer.now = self.world.now
            self.take(event)
            if self.observer.violations.count > 5 { return }
        }
        if !self.waiting.isEmpty { self.observer.violate("\(self.waiting.count) reports were never answered") }
        if !self.open.isEmpty { self.observer.violate("\(self.open.count) fetches never ended") }
    }

    private mutating func take(_ event: Event) {
        switch event {
        case .report: self.report()
        case .secondTry(let subject, let since): self.ask(for: subject, since: since)
        case .answer(let flight, let expiresAt): self.land(flight, expiresAt)
        case .failure(let flight, let retryAfter):
            self.open[flight] = nil
            let error = TokenClientError(code: .unreachable, message: "as the day has it", retryAfter: retryAfter)
            self.feed(.failed(flight, error))
        case .losePatience(let flight): self.feed(.patienceEnded(flight))
        case .wakeUp(let flight): self.feed(.deadlinePassed(flight, awaiting: .server))
        case .giveUp(let caller):
            if let waiting = self.waiting[caller] { self.feed(.cancelled(waiting.asking.subject, caller)) }
        case .switchVehicle:
            self.current = (self.current + 1) % self.subjects.count
            self.ask(for: self.subjects[self.current], since: self.world.now)
        case .refuseOnce: self.refusesNext = true
        case .sleep(let length):
            self.world.skip(length)
            self.observer.now = self.world.now
            self.observer.wokeAt = self.world.now
        case .boundary: break
        }
    }
}

// MARK: - Reports

extension MachineDay {
    private mutating func report() {
        guard self.world.now < DriversDay.length else { return }
        let subject = self.subjects[self.current]
        self.ask(for: subject, since: self.world.now)
        self.observer.lastReports[subject] = self.world.now
        let skipped = self.skips ? self.freshReports(subject) : 0
        self.observer.passed(skipped, for: subject)
        self.world.schedule(.report, after: DriversDay.interval * (skipped + 1))
    }

    private mutating func ask(for subject: TokenSubject, since: Duration) {
        if since == self.world.now { self.observer.figures.reports += 1 }
        self.calls += 1
        let caller = TokenCacheMachine.CallerID(self.calls)
        self.waiting[caller] = Waiting(asking: self.observer.asking(for: subject), since: since)
        if let token = self.machine.freshToken(for: subject, at: self.now) {
            return self.end(caller, .token(token, life: .zero))
        }
        self.world.schedule(.giveUp(caller), after: .seconds(8) - (self.world.now - since))
        self.feed(.requested(subject, caller))
    }

    /// How many further reports come before the next event and while the token is fresh.
    private func freshReports(_ subject: TokenSubject) -> Int {
        guard self.waiting.isEmpty, !self.refusesNext else { return 0 }
        let horizon = min(self.world.nextDue ?? DriversDay.length, DriversDay.length)
        var (known, excluded) = (0, 8640)
        while known + 1 < excluded {
            let middle = (known + excluded) / 2
            let moment = self.world.now + DriversDay.interval * middle
            let phase = self.machine.phase(of: subject, at: MonotonicInstant(sinceOrigin: moment))
            if moment < horizon, phase == .fresh { known = middle } else { excluded = middle }
        }
        return known
    }

    private mutating func end(_ caller: TokenCacheMachine.CallerID, _ outcome: TokenCacheMachine.Outcome) {
        guard let waiting = self.waiting.removeValue(forKey: caller) else {
            return self.observer.violate("call \(caller.number) ended twice")
        }
        let wait = self.world.now - waiting.asking.at
        guard case .token(let token, _) = outcome else { return self.observer.gotNothing(wait, waiting.asking) }
        self.observer.got(wait, waiting.asking)
        let subject = waiting.asking.subject
        self.observer.sent(token, for: subject)
        guard self.refusesNext, self.day.isNetworkUp(at: self.world.now) else { return self.observer.countSent(1) }
        self.refusesNext = false
        self.observer.refused(subject)
        self.feed(.invalidated(subject, token))
        self.world.schedule(.secondTry(subject, since: waiting.since), after: .milliseconds(50))
    }
}

// MARK: - Fetches

extension MachineDay {
    private mutating func feed(_ event: TokenCacheMachine.Event) {
        for action in self.machine.handle(event, at: self.now) {
            switch action {
            case .startFetch(let flight, let patienceEnds, let deadline):
                self.world.schedule(.losePatience(flight), after: self.now.duration(to: patienceEnds))
                self.world.schedule(.wakeUp(flight), after: self.now.duration(to: deadline))
                self.fetch(flight)
            case .stopFetch(let flight): self.open[flight] = nil
            case .resume(let callers, let outcome): for caller in callers { self.end(caller, outcome) }
            case .notify(.failed): self.observer.figures.failedFetches += 1
            case .notify(.servedStale): self.observer.figures.servedStale += 1
            case .save, .discard, .notify: break
            }
        }
    }

    private mutating func fetch(_ flight: TokenCacheMachine.FlightID) {
        if self.open.keys.contains(where: { $0.subject == flight.subject }) {
            self.observer.violate("two fetches for one vehicle")
        }
        self.observer.fetchBegan(flight.subject)
        self.open[flight] = self.world.now
        let (isTroubled, isSilent) = self.day.tokenTrouble(at: self.world.now)
        if isTroubled {
            let wait =
                self.world.random.chance(0.3)
                ? Duration.seconds(Int.random(in: 0...60, using: &self.world.random)) : nil
            if !isSilent { self.world.schedule(.failure(flight, retryAfter: wait), after: .milliseconds(200)) }
            return
        }
        let latency = self.day.latency(at: self.world.now, &self.world.random)
        let expiresAt = self.world.now + latency / 2 + DriversDay.tokenLife
        self.world.schedule(.answer(flight, expiresAt: expiresAt), after: latency)
    }

    private mutating func land(_ flight: TokenCacheMachine.FlightID, _ expiresAt: Duration) {
        // An answer that meets a tunnel is lost; the wake-up ends the fetch.
        guard let startedAt = self.open[flight], self.day.isNetworkUp(at: self.world.now) else { return }
        self.open[flight] = nil
        self.tokens += 1
        let token = FleetToken("token-\(self.tokens)")
        self.observer.arrived(token, of: flight.subject, asked: startedAt, until: expiresAt)
        self.feed(.fetched(flight, TokenGrant(token: token, life: DriversDay.tokenLife)))
    }
}
