// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens

/// Drives one machine by hand and remembers what it asked for.
struct MachineBench {
    typealias Machine = TokenCacheMachine

    var machine: Machine
    var now = MonotonicInstant()
    let subject: TokenSubject
    private(set) var outcomes: [UInt64: [Machine.Outcome]] = [:]
    private(set) var started: [Machine.FlightID] = []
    private(set) var stopped: [Machine.FlightID] = []
    private(set) var events: [TokenEvent] = []
    private(set) var saved: [TokenSubject: (token: FleetToken, life: Duration)] = [:]
    private var callers: UInt64 = 0
    private var serial = 0

    init(_ configuration: TokenCacheConfiguration = TokenCacheConfiguration(), seed: UInt64 = 1) throws {
        self.machine = Machine(configuration: configuration, seed: seed)
        self.subject = .driver(try VehicleID(checking: "veh-1"))
    }

    var phase: Machine.Phase { self.machine.phase(of: self.subject, at: self.now) }
    var flight: Machine.FlightID? { self.started.last }

    mutating func advance(_ duration: Duration) {
        self.now = self.now.advanced(by: duration)
    }

    /// A call for a token; the number names it in ``outcomes``.
    @discardableResult
    mutating func request(_ subject: TokenSubject? = nil) -> UInt64 {
        self.callers += 1
        self.feed(.requested(subject ?? self.subject, .init(self.callers)))
        return self.callers
    }

    /// A call that wants the token in hand to live so long.
    mutating func ensure(_ life: Duration) -> UInt64 {
        self.callers += 1
        self.feed(.ensured(self.subject, .init(self.callers), life: life))
        return self.callers
    }

    @discardableResult
    mutating func land(_ life: Duration = .seconds(3300), refreshAfter: Duration? = nil) -> FleetToken {
        let token = self.newToken()
        self.land(token, life: life, refreshAfter: refreshAfter)
        return token
    }

    mutating func land(_ token: FleetToken, life: Duration = .seconds(3300), refreshAfter: Duration? = nil) {
        guard let flight = self.flight else { return }
        self.feed(.fetched(flight, TokenGrant(token: token, life: life, refreshAfter: refreshAfter)))
    }

    mutating func fail(_ code: TokenClientError.Code = .unreachable, retryAfter: Duration? = nil) {
        guard let flight = self.flight else { return }
        self.feed(.failed(flight, TokenClientError(code: code, message: "as told", retryAfter: retryAfter)))
    }

    mutating func newToken() -> FleetToken {
        self.serial += 1
        return FleetToken("token-\(self.serial)")
    }

    mutating func feed(_ event: Machine.Event) {
        for action in self.machine.handle(event, at: self.now) {
            switch action {
            case .startFetch(let flight, _, _): self.started.append(flight)
            case .stopFetch(let flight): self.stopped.append(flight)
            case .resume(let callers, let outcome):
                for caller in callers { self.outcomes[caller.number, default: []].append(outcome) }
            case .notify(let event): self.events.append(event)
            case .save(let subject, let token, let life): self.saved[subject] = (token, life)
            case .discard(let subject): self.saved[subject] = nil
            }
        }
    }

    func token(of caller: UInt64) -> FleetToken? {
        if case .token(let token, _) = self.outcomes[caller]?.first { token } else { nil }
    }

    func life(of caller: UInt64) -> Duration? {
        if case .token(_, let life) = self.outcomes[caller]?.first { life } else { nil }
    }

    func error(of caller: UInt64) -> TokenClientError? {
        if case .failure(let error) = self.outcomes[caller]?.first { error } else { nil }
    }

    func isWaiting(_ caller: UInt64) -> Bool { self.outcomes[caller] == nil }

    /// What a call made now gets at once, if it is a token.
    mutating func tokenNow() -> FleetToken? {
        let caller = self.request()
        return self.token(of: caller)
    }

    /// What a call made now gets at once, if it is an error.
    mutating func errorNow() -> TokenClientError? {
        let caller = self.request()
        return self.error(of: caller)
    }

    mutating func mustWaitNow() -> Bool {
        let caller = self.request()
        return self.isWaiting(caller)
    }

    /// Calls again and again until a fetch begins, for ten minutes at most, and says how long that took.
    mutating func waitForNextFetch() -> Duration {
        let count = self.started.count
        let start = self.now
        self.request()
        while self.started.count == count, start.duration(to: self.now) < .seconds(600) {
            self.advance(.milliseconds(100))
            self.request()
        }
        return start.duration(to: self.now)
    }
}
