// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation

/// A driver's day lived through by the real provider and the real reporters, on clocks and networks made of glass.
///
/// Time moves only when everything stands still: each fetch is held by the network and watched by its wake-up, each
/// report waits for a token or for the engine, and nothing else runs. So nothing depends on the machine's speed.
struct RealDay {
    private enum Event: Sendable {
        case report, switchVehicle, refuseOnce, changeDate(Duration), sleep(Duration), boundary
        case answerToken(Int, TokenSubject, asked: Duration, mintedAt: Duration)
        case failToken(Int)
    }

    private struct Vehicle: Sendable {
        let subject: TokenSubject
        let reporter: VehicleReporter
        let updates: AsyncStream<VehicleUpdateEvent>
        /// The report that is on its way, and what became of it.
        var asking: DayObserver.Asking?
        let outcome = Locked<VehicleUpdateEvent?>(nil)

        init(subject: TokenSubject, reporter: VehicleReporter) {
            self.subject = subject
            self.reporter = reporter
            self.updates = reporter.updates()
        }

        var isReporting: Bool { self.asking != nil && self.outcome.withLock { $0 } == nil }
    }

    private(set) var observer: DayObserver
    private let day: DriversDay
    private let endpoint: TokenEndpoint
    private let provider: FleetTokenProvider
    private let tokenNetwork = HeldTransport()
    private let engineNetwork = HeldTransport()
    private let tokenClock = ManualClock()
    private let reportClock = ManualClock()
    private var vehicles: [Vehicle] = []
    private var world: SeededWorld<Event>
    private var current = 0
    private var refusesNext = false
    private var dateError = Duration.zero
    private var serial = 0

    init(_ day: DriversDay, ids: [VehicleID], provider id: ProviderID, server: URL) throws {
        self.day = day
        self.observer = DayObserver(day)
        self.world = SeededWorld(seed: day.seed)
        self.endpoint = try .fleetpass(server)
        self.provider = try FleetTokenProvider(
            endpoint: self.endpoint, transport: self.tokenNetwork, clock: self.tokenClock)
        for vehicle in ids {
            let reporter = try VehicleReporter(
                provider: id, vehicle: vehicle, engine: server, tokens: self.provider, transport: self.engineNetwork,
                clock: self.reportClock)
            self.vehicles.append(Vehicle(subject: .driver(vehicle), reporter: reporter))
        }
    }

    /// Lives through the day to its end.
    mutating func run() async throws {
        for moment in self.day.switches {
            self.world.schedule(.switchVehicle, after: moment)
            self.world.schedule(.switchVehicle, after: moment + .milliseconds(100))
        }
        for moment in self.day.refusals { self.world.schedule(.refuseOnce, after: moment) }
        for sleep in self.day.sleeps { self.world.schedule(.sleep(sleep.length), after: sleep.at) }
        for change in self.day.dateChanges { self.world.schedule(.changeDate(change.by), after: change.at) }
        for vehicle in self.vehicles { await vehicle.reporter.startTracking() }
        self.world.schedule(.report, after: .zero)
        while let event = self.world.next() {
            self.observer.now = self.world.now
            self.tokenClock.advance(by: self.tokenClock.now.sinceStart.distance(to: self.world.now))
            self.reportClock.advance(by: self.reportClock.now.sinceStart.distance(to: self.world.now))
            await self.comeToRest()
            try await self.take(event)
            await self.comeToRest()
            if self.observer.violations.count > 5 { return }
        }
        self.observer.figures.failedFetches = self.provider.metrics.failures
        if self.provider.load.fetches + self.provider.load.callers > 0 {
            self.observer.violate("something never ended: \(self.provider.load)")
        }
    }

    // MARK: - Events

    private mutating func take(_ event: Event) async throws {
        switch event {
        case .report:
            guard self.world.now < DriversDay.length else { return }
            try await self.report()
            self.world.schedule(.report, after: DriversDay.interval)
        case .switchVehicle:
            self.current = (self.current + 1) % self.vehicles.count
            try await self.report()
        case .refuseOnce: self.refusesNext = true
        case .changeDate(let by): self.dateError += by
        case .sleep(let length):
            self.world.skip(length)
            self.observer.now = self.world.now
            self.observer.wokeAt = self.world.now
        case .boundary: break
        case .answerToken(let number, let subject, let asked, let mintedAt):
            self.answerToken(number, subject, asked: asked, mintedAt: mintedAt)
        case .failToken(let number):
            self.tokenNetwork.answer(
                number, .failure(TokenClientError(code: .unreachable, message: "as the day has it")))
        }
    }

    private mutating func report() async throws {
        // One report at a time: a second one while the first is on its way would be none.
        guard self.vehicles[self.current].asking == nil else { return }
        let vehicle = self.vehicles[self.current]
        let time = Date(timeIntervalSince1970: 1_767_225_600 + (self.world.now + self.dateError) / .seconds(1))
        await vehicle.reporter.record(try LocationFix(latitude: 37, longitude: -122, time: time))
        self.observer.figures.reports += 1
        self.vehicles[self.current].asking = self.observer.asking(for: vehicle.subject)
        self.observer.lastReports[vehicle.subject] = self.world.now
        Task {
            await vehicle.reporter.reportNow()
            let event = await vehicle.updates.first { _ in true }
            vehicle.outcome.withLock { $0 = event }
        }
        // The report ends by then at the latest.
        self.world.schedule(.boundary, after: .seconds(8))
    }

    private mutating func answerToken(
        _ number: Int, _ subject: TokenSubject, asked: Duration, mintedAt: Duration
    ) {
        // An answer that meets a tunnel is lost; the wake-up ends the fetch.
        guard self.tokenNetwork.isHeld(number), self.day.isNetworkUp(at: self.world.now) else { return }
        self.serial += 1
        let serverTime = TestTokens.issuedAt + mintedAt.components.seconds
        let token = TestTokens.token(for: subject, issuedAt: serverTime - 300, serial: self.serial)
        let response = TestTokens.response(
            with: token, from: self.endpoint, for: subject, life: DriversDay.tokenLife, at: serverTime)
        self.observer.arrived(token, of: subject, asked: asked, until: mintedAt + DriversDay.tokenLife)
        self.tokenNetwork.answer(number, .success(response))
    }

    // MARK: - Rest

    /// Waits until nothing runs any more, and plays the networks' part meanwhile.
    private mutating func comeToRest() async {
        while true {
            while !self.isAtRest { await Task.yield() }
            let fetches = self.tokenNetwork.takeArrivals()
            for fetch in fetches { self.beginFetch(fetch.number, fetch.request) }
            let sent = self.engineNetwork.takeArrivals()
            for report in sent { self.engineNetwork.answer(report.number, self.engineAnswer(to: report.request)) }
            let ended = self.collectEnded()
            if fetches.isEmpty, sent.isEmpty, !ended { return }
        }
    }

    private var isAtRest: Bool {
        let load = self.provider.load
        let fetches = self.tokenNetwork.count
        guard load.fetches == fetches, self.tokenClock.sleeperCount == fetches else { return false }
        let running = self.vehicles.filter(\.isReporting).count
        return self.reportClock.sleeperCount == running && self.engineNetwork.count + load.callers == running
            && self.provider.load == load
    }

    private mutating func beginFetch(_ number: Int, _ request: HTTPTransportRequest) {
        guard let vehicle = self.vehicles.first(where: { request.url.path.hasSuffix("/\($0.reporter.vehicle.value)") })
        else { return self.observer.violate("a fetch for \(request.url)") }
        self.observer.fetchBegan(vehicle.subject)
        // Who has a valid token waits until then, and the fetch ends by then at the latest.
        self.world.schedule(.boundary, after: DriversDay.patience)
        self.world.schedule(.boundary, after: .seconds(8))
        let (isTroubled, isSilent) = self.day.tokenTrouble(at: self.world.now)
        if isTroubled {
            if !isSilent { self.world.schedule(.failToken(number), after: .milliseconds(200)) }
            return
        }
        let latency = self.day.latency(at: self.world.now, &self.world.random)
        self.world.schedule(
            .answerToken(number, vehicle.subject, asked: self.world.now, mintedAt: self.world.now + latency / 2),
            after: latency)
    }

    /// The engine judges a token by its own clock.
    private mutating func engineAnswer(to request: HTTPTransportRequest) -> HeldTransport.Answer {
        let header = request.headers.first { $0.name == "Authorization" }?.value ?? ""
        guard let vehicle = self.vehicles.first(where: { request.url.path.hasSuffix("/\($0.reporter.vehicle.value)") })
        else { return .failure(TokenClientError(code: .refused, message: "No such vehicle.")) }
        self.observer.sent(FleetToken(String(header.dropFirst("Bearer ".count))), for: vehicle.subject)
        guard self.day.isNetworkUp(at: self.world.now) else {
            return .failure(TokenClientError(code: .unreachable, message: "A tunnel."))
        }
        guard self.refusesNext else {
            return .success(HTTPTransportResponse(status: 200, body: Data(#"{"name":"of the vehicle"}"#.utf8)))
        }
        self.refusesNext = false
        self.observer.refused(vehicle.subject)
        if let index = self.vehicles.firstIndex(where: { $0.subject == vehicle.subject }) {
            self.vehicles[index].asking = self.observer.asking(for: vehicle.subject)
        }
        return .success(HTTPTransportResponse(status: 401, body: Data("{}".utf8)))
    }

    /// Takes note of the reports that have ended.
    private mutating func collectEnded() -> Bool {
        var hasEnded = false
        for index in self.vehicles.indices {
            guard let asking = self.vehicles[index].asking,
                let event = self.vehicles[index].outcome.withLock({ $0 })
            else { continue }
            hasEnded = true
            self.vehicles[index].asking = nil
            self.vehicles[index].outcome.withLock { $0 = nil }
            if event.failure?.stage == .token {
                self.observer.gotNothing(event.tokenWait, asking)
            } else {
                self.observer.got(event.tokenWait, asking)
                self.observer.countSent(1)
            }
        }
        return hasEnded
    }
}

extension Duration {
    fileprivate func distance(to other: Self) -> Self { other - self }
}
