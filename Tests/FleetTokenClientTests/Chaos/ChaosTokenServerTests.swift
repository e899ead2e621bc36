// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

/// What the provider makes of each misbehaviour, with and without a network.
@Suite(.timeLimit(.minutes(10))) struct ChaosTokenServerTests {
    /// What a first call ends with.
    private enum Expected: Hashable {
        case token
        case error(TokenClientError.Code, status: Int? = nil)
    }

    private static func expected(of step: ChaosStep) -> Expected {
        switch step {
        case .good, .slow, .shortLived, .clockOff, .stringExpiry, .overstatedLife: .token
        case .wrongToken, .otherVehiclesToken, .wildcardToken: .error(.wrongToken)
        case .alreadyExpired: .error(.expired, status: 200)
        case .unsigned, .emptyBody, .jsonArray, .html, .missingToken, .numericToken, .missingExpiry:
            .error(.invalidAnswer, status: 200)
        case .oversized: .error(.invalidAnswer)
        case .status(429, _): .error(.rateLimited, status: 429)
        case .status(let status, _) where status < 500: .error(.refused, status: status)
        case .status(let status, _): .error(.unreachable, status: status)
        case .redirect: .error(.invalidAnswer, status: 302)
        case .tornBody, .dropConnection: .error(.unreachable)
        case .drip, .hang: .error(.timedOut)
        }
    }

    private static func outcome(
        of fetch: @Sendable () async throws -> FleetToken, lenientAbout step: ChaosStep
    ) async -> Expected {
        do {
            _ = try await fetch()
            return .token
        } catch let error as TokenClientError {
            // The transport ends an oversized body before a status counts, the endpoint after.
            let hidesStatus = [.oversized, .wrongToken, .otherVehiclesToken, .wildcardToken].contains(step)
            return .error(error.code, status: hidesStatus ? nil : error.httpStatus)
        } catch {
            Issue.record("\(error) is not the client's own error")
            return .error(.unreachable)
        }
    }

    /// A subject and the address of a server in each contract.
    enum Contract: CaseIterable, Sendable {
        case onDemand, scheduled, fleetpass

        func endpoint(_ server: URL) throws -> TokenEndpoint {
            switch self {
            case .onDemand: try .onDemand(server)
            case .scheduled: try .scheduled(server)
            case .fleetpass: try .fleetpass(server)
            }
        }

        func subject() throws -> TokenSubject {
            switch self {
            case .onDemand: .consumer(try TripID(checking: "trip-7"))
            case .scheduled: .deliveryDriver(try DeliveryVehicleID(checking: "dv-12"))
            case .fleetpass: .driver(try VehicleID(checking: "veh 3%41"))
            }
        }
    }

    /// The time that has to pass on the server's clock before a step is over.
    private static func time(of step: ChaosStep) -> Duration? {
        switch step {
        case .slow(let wait): wait
        case .hang, .drip: TokenCacheConfiguration().fetchTimeout
        default: nil
        }
    }

    @Test(arguments: ChaosStep.allCases, Contract.allCases)
    func `each misbehaviour has its error, without a network`(step: ChaosStep, contract: Contract) async throws {
        let clock = ManualClock()
        let server = ChaosTokenServer([step], clock: clock)
        let provider = try FleetTokenProvider(
            endpoint: contract.endpoint(server.url), transport: server, clock: clock)
        let subject = try contract.subject()
        let outcome = Task { await Self.outcome(of: { try await provider.token(for: subject) }, lenientAbout: step) }
        if let time = Self.time(of: step) {
            // The transport's and the provider's own.
            await clock.waitForSleepers(2)
            clock.advance(by: time)
        }
        #expect(await outcome.value == Self.expected(of: step))
        #expect(server.requests.map(\.subject) == [subject])
        #expect(server.requests.map(\.step) == [step])
    }

    @Test(arguments: ChaosStep.allCases)
    func `each misbehaviour has its error, over a socket`(step: ChaosStep) async throws {
        let clock = ManualClock()
        let server = ChaosTokenServer([step], clock: clock)
        let listening = try server.listen()
        let provider = try FleetTokenProvider(
            endpoint: .onDemand(listening.url),
            transport: URLSessionTransport(maximumBodyBytes: TokenEndpoint.maximumAnswerBytes),
            configuration: TokenCacheConfiguration(
                fetchTimeout: [.hang, .drip].contains(step) ? .milliseconds(300) : .seconds(60)))
        let subject = try Contract.onDemand.subject()
        let outcome = Task { await Self.outcome(of: { try await provider.token(for: subject) }, lenientAbout: step) }
        if case .slow(let wait) = step {
            await clock.waitForSleepers(1)
            clock.advance(by: wait)
        }
        #expect(await outcome.value == Self.expected(of: step))
        #expect(server.requests.map(\.subject) == [subject])
    }

    @Test(arguments: ChaosStep.allCases)
    func `a valid token stays in use whatever the server does next`(step: ChaosStep) async throws {
        let clock = ManualClock()
        let server = ChaosTokenServer(ChaosScript([.good], then: step), clock: clock)
        // Callers wait longer than the slow step takes: at the same moment, either may win.
        let provider = try FleetTokenProvider(
            endpoint: .fleetpass(server.url), transport: server,
            configuration: TokenCacheConfiguration(patience: .seconds(5)), clock: clock)
        let subject = try Contract.fleetpass.subject()
        let first = try await provider.token(for: subject)
        clock.advance(by: .seconds(3400))
        let second = Task { try await provider.token(for: subject) }
        if let time = Self.time(of: step) {
            await clock.waitForSleepers(2)
            clock.advance(by: time)
        }
        // A new token that ends sooner than the one in hand is no gain.
        let isLonger = if case .shortLived = step { false } else { Self.expected(of: step) == .token }
        #expect(try await (second.value != first) == isLonger)
        #expect(server.requests.count == 2)
    }

    @Test func `a token that the answer overstates ends when it ends itself`() async throws {
        let clock = ManualClock()
        let server = ChaosTokenServer([.overstatedLife(.seconds(36_000)), .status(500)], clock: clock)
        let provider = try FleetTokenProvider(endpoint: .fleetpass(server.url), transport: server, clock: clock)
        let subject = try Contract.fleetpass.subject()
        _ = try await provider.token(for: subject)
        clock.advance(by: .seconds(3600))
        let error = await #expect(throws: TokenClientError.self) { try await provider.token(for: subject) }
        #expect(error?.code == .unreachable)
    }

    @Test func `a provider comes through any chaos and out of it`() async throws {
        let calm = ChaosStep.allCases.filter { Self.time(of: $0) == nil }
        for seed in 0..<UInt64(10) {
            let clock = ManualClock()
            let server = ChaosTokenServer(.chaos(seed: seed, calm: 0.2, from: calm), clock: clock)
            let provider = try FleetTokenProvider(endpoint: .fleetpass(server.url), transport: server, clock: clock)
            let subject = try Contract.fleetpass.subject()
            for _ in 0..<100 {
                if let token = try? await provider.token(for: subject) { provider.invalidate(token, for: subject) }
                clock.advance(by: .seconds(61))
            }
            server.play([])
            clock.advance(by: .seconds(600))
            _ = try await provider.token(for: subject)
            #expect(Set(server.requests.map(\.step)).count > 10, "seed \(seed)")
        }
    }

    @Test func `equal seeds give equal chaos and other seeds do not`() {
        func steps(seed: UInt64) -> [ChaosStep] {
            var script = ChaosScript.chaos(seed: seed)
            return (0..<200).map { _ in script.next() }
        }
        #expect(steps(seed: 1) == steps(seed: 1))
        #expect(steps(seed: 1) != steps(seed: 2))
        #expect(Set(steps(seed: 1)).count > 20)
    }

    @Test func `a subject may have a script of its own`() async throws {
        let trip = TokenSubject.consumer(try TripID(checking: "trip-7"))
        let vehicle = TokenSubject.driver(try VehicleID(checking: "veh-3"))
        let server = ChaosTokenServer(.always(.status(503)), for: [trip: []], clock: ManualClock())
        let provider = try FleetTokenProvider(
            endpoint: .onDemand(server.url), transport: server, clock: ManualClock())
        _ = try await provider.token(for: trip)
        await #expect(throws: TokenClientError.self) { try await provider.token(for: vehicle) }
        let another = try FleetTokenProvider(endpoint: .onDemand(server.url), transport: server, clock: ManualClock())
        server.play([.good], for: vehicle)
        _ = try await another.token(for: vehicle)
        #expect(server.requests.map(\.step) == [.good, .status(503), .good])
    }

    @Test func `the log shows who asked for what and nothing secret`() async throws {
        let secret = "MARKED-CREDENTIAL"
        let server = ChaosTokenServer(clock: ManualClock())
        let url = try #require(
            URL(string: "https://t.example.com/api/token/delivery_driver/dv-12?task=t1&key=\(secret)"))
        _ = try await server.send(HTTPTransportRequest(url: url, headers: [("Authorization", secret)]))
        let request = try #require(server.requests.first)
        #expect(request.method == "GET" && request.path == "/api/token/delivery_driver/dv-12")
        #expect(request.headerNames == ["authorization"])
        #expect(
            request.subject
                == .deliveryDriver(try DeliveryVehicleID(checking: "dv-12"), task: try TaskID(checking: "t1")))
        var print = "\(request) \(String(reflecting: request))"
        dump(request, to: &print)
        #expect(!print.contains(secret))
    }

    @Test(arguments: ["https://t.example.com/other", "https://t.example.com/token/driver", "https://t.example.com"])
    func `an address that names nobody is not found`(address: String) async throws {
        let server = ChaosTokenServer(clock: ManualClock())
        let response = try await server.send(HTTPTransportRequest(url: try #require(URL(string: address))))
        #expect(response.status == 404)
        #expect(server.requests.map(\.step) == [.status(404)])
    }

    @Test func `a stopped server is not reached and its port is free`() async throws {
        let listening = try ChaosTokenServer().listen()
        let transport = URLSessionTransport()
        let url = try #require(URL(string: listening.url.absoluteString + "/token/driver/veh-3"))
        #expect(try await transport.send(HTTPTransportRequest(url: url)).status == 200)
        listening.stop()
        let error = await #expect(throws: TokenClientError.self) {
            try await transport.send(HTTPTransportRequest(url: url))
        }
        #expect(error?.code == .unreachable)
    }

    @Test func `stopping ends the connections that hang`() async throws {
        let listening = try ChaosTokenServer([.hang]).listen()
        let url = try #require(URL(string: listening.url.absoluteString + "/token/driver/veh-3"))
        let hanging = Task {
            try await URLSessionTransport().send(HTTPTransportRequest(url: url, timeout: .seconds(100)))
        }
        await listening.waitForRequests(1)
        listening.stop()
        let error = await #expect(throws: TokenClientError.self) { try await hanging.value }
        #expect(error?.code == .unreachable)
    }
}
