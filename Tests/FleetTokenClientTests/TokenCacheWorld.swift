// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens

/// A phone, a token server and a network, all driven by one seed, that watch every promise of the cache.
struct TokenCacheWorld {
    private enum Event: Sendable {
        case report
        case cancel(TokenSubject, TokenCacheMachine.CallerID)
        case answer(TokenCacheMachine.FlightID, HTTPTransportResponse)
        case networkFailure(TokenCacheMachine.FlightID)
        case losePatience(TokenCacheMachine.FlightID)
        case wakeUp(TokenCacheMachine.FlightID)
        case changeHealth
        case changeVehicle
        case suspend
        case refuse(TokenSubject, FleetToken)
        case refusalStorm
    }

    private enum Health: CaseIterable {
        case good, flaky, down, slow, refusing, shortLived
    }

    private struct Pending {
        let since: Duration
        let subject: TokenSubject
        /// Until when the token in hand is valid; unknown after it was refused.
        var heldUntil: Duration?
    }

    private struct Minted {
        let subject: TokenSubject
        let expiresAt: Duration
    }

    private static let patience = TokenCacheConfiguration().patience

    private(set) var violations: [String] = []
    private(set) var handedOut = 0
    private(set) var failures = 0
    private(set) var ensured = 0
    private(set) var fetches = 0

    private var world: SeededWorld<Event>
    private var machine: TokenCacheMachine
    private let endpoint: TokenEndpoint
    private let subjects: [TokenSubject]
    private let evicts: Bool
    private let serverClockError: Int64
    private var subject: TokenSubject
    private var health = Health.good
    private var goodSince = Duration.zero
    private var stormUntil = Duration.zero
    private var callers: UInt64 = 0
    private var pending: [TokenCacheMachine.CallerID: Pending] = [:]
    /// The life that a caller wants, if it wants one.
    private var wanted: [TokenCacheMachine.CallerID: Duration] = [:]
    private var open: [TokenSubject: (flight: TokenCacheMachine.FlightID, since: Duration)] = [:]
    private var minted: [FleetToken: Minted] = [:]
    private var refused: Set<FleetToken> = []
    /// The cached token as an independent observer knows it: the last one that arrived and was not refused.
    private var known: [TokenSubject: (fingerprint: String, until: Duration)] = [:]
    /// Whether a subject's last fetch failed or brought too short a token, so that fewer than 5 minutes are excused.
    private var isTroubled: [TokenSubject: Bool] = [:]

    init(seed: UInt64, endpoint: TokenEndpoint, subjects: [TokenSubject]) {
        self.world = SeededWorld(seed: seed)
        self.endpoint = endpoint
        self.subjects = subjects
        self.subject = subjects[0]
        self.evicts = self.world.random.chance(0.2)
        let capacity = self.evicts ? 2 : subjects.count
        self.machine = TokenCacheMachine(
            configuration: TokenCacheConfiguration(capacity: capacity), seed: self.world.random.next())
        self.serverClockError = Int64.random(in: -86_400...86_400, using: &self.world.random)
    }

    /// Plays eight hours of reports, then lets everything come to its end.
    mutating func run() {
        let end = Duration.seconds(8 * 3600)
        self.world.schedule(.report, after: .zero)
        self.world.schedule(.changeHealth, after: .seconds(600))
        self.world.schedule(.changeVehicle, after: self.world.random.duration(in: .seconds(60) ... .seconds(7200)))
        self.world.schedule(.suspend, after: self.world.random.duration(in: .seconds(600) ... .seconds(20_000)))
        self.world.schedule(.refusalStorm, after: self.world.random.duration(in: .seconds(60) ... .seconds(90_000)))
        while let event = self.world.next() {
            let isOver = self.world.now > end
            switch event {
            case .report, .changeHealth, .changeVehicle, .suspend, .refusalStorm: if isOver { continue }
            case .cancel, .answer, .networkFailure, .losePatience, .wakeUp, .refuse: break
            }
            self.take(event)
            if self.violations.count > 5 { return }
        }
        if !self.pending.isEmpty { self.violate("\(self.pending.count) callers were never answered") }
        if !self.open.isEmpty { self.violate("\(self.open.count) fetches never ended") }
    }

    private var now: MonotonicInstant { MonotonicInstant(sinceOrigin: self.world.now) }

    private mutating func violate(_ what: String) {
        self.violations.append("seed \(self.world.seed), at \(self.world.now): \(what)")
    }
}

// MARK: - What happens

extension TokenCacheWorld {
    private mutating func take(_ event: Event) {
        switch event {
        case .report:
            for _ in 0..<(self.world.random.chance(0.1) ? 5 : 1) { self.request() }
            let interval = self.world.random.chance(0.05) ? Duration.seconds(400) : .seconds(30)
            self.world.schedule(.report, after: self.world.random.duration(in: .seconds(5)...interval))
        case .cancel(let subject, let caller): self.feed(.cancelled(subject, caller))
        case .answer(let flight, let response): self.land(flight, response)
        case .networkFailure(let flight):
            self.feed(.failed(flight, TokenClientError(code: .unreachable, message: "The network is down.")))
        case .losePatience(let flight): self.feed(.patienceEnded(flight))
        case .wakeUp(let flight): self.feed(.deadlinePassed(flight, awaiting: .server))
        case .changeHealth:
            self.health =
                self.world.random.chance(0.5)
                ? .good : Health.allCases.randomElement(using: &self.world.random) ?? .good
            self.goodSince = self.world.now
            self.world.schedule(.changeHealth, after: self.world.random.duration(in: .seconds(30) ... .seconds(7200)))
        case .changeVehicle:
            self.subject = self.subjects.randomElement(using: &self.world.random) ?? self.subject
            self.world.schedule(.changeVehicle, after: self.world.random.duration(in: .seconds(10) ... .seconds(7200)))
        case .suspend:
            self.world.skip(self.world.random.duration(in: .seconds(1) ... .seconds(5000)))
            self.goodSince = self.world.now
            self.world.schedule(.suspend, after: self.world.random.duration(in: .seconds(600) ... .seconds(20_000)))
        case .refuse(let subject, let token):
            if self.known[subject]?.fingerprint == token.fingerprint {
                self.known[subject] = nil
                for (caller, call) in self.pending where call.subject == subject {
                    self.pending[caller]?.heldUntil = nil
                }
                self.refused.insert(token)
            }
            self.feed(.invalidated(subject, token))
        case .refusalStorm: self.stormUntil = self.world.now + .seconds(180)
        }
    }

    private mutating func request() {
        self.callers += 1
        let caller = TokenCacheMachine.CallerID(self.callers)
        let subject =
            self.world.random.chance(0.1)
            ? self.subjects.randomElement(using: &self.world.random) ?? self.subject : self.subject
        // Where subjects make room for each other, only the machine knows what it still has.
        let heldUntil = self.evicts ? nil : self.known[subject]?.until
        self.pending[caller] = Pending(since: self.world.now, subject: subject, heldUntil: heldUntil)
        if self.world.random.chance(0.05) {
            let life = self.world.random.duration(in: .zero ... .seconds(3700))
            self.wanted[caller] = life
            self.feed(.ensured(subject, caller, life: life))
            return
        }
        if let token = self.machine.freshToken(for: subject, at: self.now) {
            self.end([caller], .token(token, life: .zero), of: subject)
            return
        }
        if self.world.random.chance(0.1) {
            self.world.schedule(
                .cancel(subject, caller), after: self.world.random.duration(in: .zero ... .seconds(10)))
        }
        self.feed(.requested(subject, caller))
    }

    /// Decides what becomes of a fetch, through the real reading of a real answer.
    private mutating func fetch(_ flight: TokenCacheMachine.FlightID) {
        self.fetches += 1
        var latency = self.world.random.duration(in: .milliseconds(20) ... .seconds(3))
        if self.health == .slow { latency = self.world.random.duration(in: .seconds(1) ... .seconds(20)) }
        let fails =
            switch self.health {
            case .good, .slow, .shortLived, .refusing: false
            case .flaky: self.world.random.chance(0.5)
            case .down: true
            }
        if fails {
            // Half of all losses are silent and end with the wake-up only.
            if self.world.random.chance(0.5) { self.world.schedule(.networkFailure(flight), after: latency) }
            return
        }
        self.world.schedule(.answer(flight, self.answer(for: flight.subject, latency: latency)), after: latency)
    }

    private mutating func answer(for subject: TokenSubject, latency: Duration) -> HTTPTransportResponse {
        if self.health == .refusing {
            let status = [401, 403, 404, 429, 500, 503].randomElement(using: &self.world.random) ?? 500
            let wait = Int.random(in: 0...50, using: &self.world.random)
            return HTTPTransportResponse(status: status, headers: wait > 25 ? [("Retry-After", "\(wait)")] : [])
        }
        // The token is made somewhere between the request's start and the answer's arrival.
        let mintedAt = self.world.now + latency * Double.random(in: 0...1, using: &self.world.random)
        let serverTime = TestTokens.issuedAt + self.serverClockError + mintedAt.components.seconds
        let left =
            self.health == .shortLived
            ? self.world.random.duration(in: .seconds(2) ... .seconds(900)).components.seconds : 3300
        let token = TestTokens.token(
            for: subject, issuedAt: serverTime + left - 3600, lifetime: .seconds(3600), serial: self.fetches)
        self.minted[token] = Minted(subject: subject, expiresAt: .seconds(mintedAt.components.seconds + left))
        let refreshAfter = self.world.random.chance(0.5) ? Int64.random(in: 1...3600, using: &self.world.random) : nil
        return TestTokens.response(
            with: token, from: self.endpoint, for: subject, life: .seconds(left - 1),
            refreshAfter: refreshAfter.map { .seconds($0) }, at: serverTime)
    }

    private mutating func land(_ flight: TokenCacheMachine.FlightID, _ response: HTTPTransportResponse) {
        do throws(TokenClientError) {
            let grant = try self.endpoint.grant(from: response, for: flight.subject)
            self.feed(.fetched(flight, grant))
        } catch {
            self.feed(.failed(flight, error))
        }
    }
}

// MARK: - What is promised

extension TokenCacheWorld {
    private mutating func feed(_ event: TokenCacheMachine.Event) {
        let subject: TokenSubject
        switch event {
        case .requested(let own, _), .ensured(let own, _, _), .cancelled(let own, _), .invalidated(let own, _):
            subject = own
        case .patienceEnded(let flight): subject = flight.subject
        case .restored(let flight, _), .fetched(let flight, _), .failed(let flight, _),
            .deadlinePassed(let flight, _, _):
            subject = flight.subject
            if self.open[subject]?.flight == flight { self.open[subject] = nil }
        case .pausesLifted, .closed: return self.violate("the app did something by itself")
        }
        for action in self.machine.handle(event, at: self.now) {
            switch action {
            case .startFetch(let flight, let patienceEnds, let deadline):
                if self.open[flight.subject] != nil { self.violate("a second fetch for \(flight.subject) began") }
                self.open[flight.subject] = (flight, self.world.now)
                self.world.schedule(.losePatience(flight), after: self.now.duration(to: patienceEnds))
                self.world.schedule(.wakeUp(flight), after: self.now.duration(to: deadline))
                self.fetch(flight)
            case .stopFetch(let flight):
                if self.open[flight.subject]?.flight == flight { self.open[flight.subject] = nil }
            case .resume(let callers, let outcome): self.end(callers, outcome, of: subject)
            case .notify(let event): self.observe(event)
            case .save, .discard: break
            }
        }
        if self.machine.count > (self.evicts ? 2 : self.subjects.count) { self.violate("the cache outgrew its bound") }
    }

    private mutating func observe(_ event: TokenEvent) {
        switch event {
        case .fetched(let subject, let fingerprint, let life), .refreshed(let subject, let fingerprint, let life):
            self.known[subject] = (fingerprint, self.world.now + life)
            self.isTroubled[subject] = life < .seconds(360)
        case .failed(let subject, _): self.isTroubled[subject] = true
        case .restored, .servedStale, .refused, .clockError, .storeFailed: break
        }
    }

    private mutating func end(
        _ callers: Set<TokenCacheMachine.CallerID>, _ outcome: TokenCacheMachine.Outcome, of subject: TokenSubject
    ) {
        for caller in callers {
            guard let pending = self.pending.removeValue(forKey: caller) else {
                self.violate("caller \(caller.number) was answered twice")
                continue
            }
            let wanted = self.wanted.removeValue(forKey: caller)
            self.check(pending, isPlain: wanted == nil)
            switch outcome {
            case .token(let token, let life):
                if wanted == nil { self.check(token, for: subject) } else { self.ensured += 1 }
                if let wanted, life < wanted { self.violate("a life of \(life) was given for \(wanted)") }
            case .failure(let error): if wanted == nil { self.check(error, of: subject, since: pending.since) }
            case .cancelled: break
            }
        }
    }

    /// Holds a wait that ends now against what is promised.
    private mutating func check(_ pending: Pending, isPlain: Bool) {
        let start = max(pending.since, self.goodSince)
        if self.world.now > start + .seconds(8) { self.violate("a caller waited too long") }
        let patienceEnds = start + Self.patience
        if isPlain, self.world.now > patienceEnds, let heldUntil = pending.heldUntil, heldUntil > patienceEnds {
            self.violate("a caller waited \(self.world.now - start) although there was a valid token")
        }
    }

    private mutating func check(_ token: FleetToken, for subject: TokenSubject) {
        self.handedOut += 1
        guard let minted = self.minted[token] else { return self.violate("a token that nobody minted was handed out") }
        if minted.subject != subject { self.violate("\(subject) got the token of \(minted.subject)") }
        if self.refused.contains(token) { self.violate("a refused token was handed out again") }
        let left = minted.expiresAt - self.world.now
        if left <= .zero { self.violate("a token was handed out \(.zero - left) after its end") }
        let isSlow = self.open[subject].map { self.world.now >= $0.since + Self.patience } ?? false
        if left < .seconds(300), !isSlow, self.isTroubled[subject] != true {
            self.violate("a token with \(left) left was handed out")
        }
        let isStorming = self.world.now < self.stormUntil
        if isStorming || self.world.random.chance(0.002) {
            self.world.schedule(
                .refuse(subject, token), after: self.world.random.duration(in: .zero ... .seconds(5)))
        }
    }

    private mutating func check(_ error: TokenClientError, of subject: TokenSubject, since: Duration) {
        self.failures += 1
        if !self.evicts, let known = self.known[subject], known.until > self.world.now {
            self.violate("an error hid a valid token: \(error)")
        }
        // One back-off is at most 60 s here, and the fetch that began before it 8 s.
        let isGood = self.health == .good && since > self.goodSince + .seconds(70)
        // A cache of two may be full of callers that wait for others.
        let isFull = self.evicts && error.code == .rateLimited
        if isGood, !isFull, error.code != .excessiveRefresh {
            self.violate("an error came \(since - self.goodSince) after the outage: \(error)")
        }
    }
}
