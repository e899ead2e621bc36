// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

/// What the provider does with gaps, sleep, proofs and its own figures.
@Suite(.timeLimit(.minutes(10))) struct TokenProviderLifeTests {
    private let phone = TestPhone()
    private let endpoint: TokenEndpoint
    private let subject: TokenSubject

    init() throws {
        self.endpoint = try .fleetpass(try #require(URL(string: "https://tokens.example.com")))
        self.subject = .driver(try VehicleID(checking: "veh-3"))
    }

    private func response(_ serial: Int, for subject: TokenSubject? = nil) -> HTTPTransportResponse {
        let serverTime = TestTokens.issuedAt + 300 + self.phone.clock.now.sinceStart.components.seconds
        let subject = subject ?? self.subject
        let token = TestTokens.token(for: subject, issuedAt: serverTime - 300, serial: serial)
        return TestTokens.response(
            with: token, from: self.endpoint, for: subject, life: .seconds(3300), at: serverTime)
    }

    private func server() -> StubTransport {
        StubTransport { [self] _, index in .response(self.response(index)) }
    }

    private func provider(
        _ transport: StubTransport, credentials: @escaping FleetTokenProvider.Credentials = { [] },
        proof: FleetTokenProvider.Proof? = nil
    ) throws -> FleetTokenProvider {
        try FleetTokenProvider(
            endpoint: self.endpoint, transport: transport, clock: self.phone.clock,
            deviceClock: self.phone.deviceClock, credentials: credentials, proof: proof)
    }

    // MARK: Gaps

    @Test func `a token is made to last through a gap`() async throws {
        let server = self.server()
        let provider = try self.provider(server)
        let first = try await provider.token(for: self.subject)
        self.phone.advance(by: .seconds(1000))
        #expect(try await provider.ensure(valid: .seconds(2300), for: self.subject) == .seconds(2300))
        #expect(server.requests.count == 1)
        #expect(try await provider.ensure(valid: .seconds(2400), for: self.subject) == .seconds(3300))
        #expect(try await provider.token(for: self.subject) != first)
        #expect(server.requests.count == 2)
        self.phone.advance(by: .seconds(2400))
        _ = try await provider.token(for: self.subject)
        #expect(server.requests.count == 2)
    }

    @Test func `many at once who want a life cause one fetch, and a cancelled one leaves`() async throws {
        let gate = AsyncStream.makeStream(of: Void.self)
        let server = StubTransport { [self] _, index in
            for await _ in gate.stream {}
            return .response(self.response(index))
        }
        let provider = try self.provider(server)
        let subject = self.subject
        let callers = (0..<1000).map { _ in Task { try await provider.ensure(valid: .seconds(3000), for: subject) } }
        await server.waitForRequests(1)
        callers[0].cancel()
        await #expect(throws: CancellationError.self) { try await callers[0].value }
        gate.continuation.finish()
        for caller in callers.dropFirst() { #expect(try await caller.value == .seconds(3300)) }
        #expect(server.requests.count == 1)
        #expect(provider.metrics.waits == 0, "nobody waited for a token to send")
    }

    @Test func `a life that cannot be had is a clear error`() async throws {
        let provider = try self.provider(self.server())
        for life in [Duration.seconds(3400), .seconds(4000)] {
            let error = await #expect(throws: TokenClientError.self) {
                try await provider.ensure(valid: life, for: self.subject)
            }
            #expect(error?.code == .lifeUnavailable)
            #expect(error?.message.contains("3300.0 seconds left") == true)
        }
        #expect(provider.metrics.fetches == 1)
    }

    // MARK: Suspend and resume

    @Test func `after a sleep nothing that ended is handed out`() async throws {
        let server = self.server()
        let provider = try self.provider(server)
        let first = try await provider.token(for: self.subject)
        self.phone.advance(by: .seconds(8 * 3600))
        #expect(try await provider.token(for: self.subject) != first)
        #expect(server.requests.count == 2)
    }

    @Test func `a fetch that slept past its limit is begun again, and its late answer hurts nobody`() async throws {
        let gate = AsyncStream.makeStream(of: Void.self)
        let server = StubTransport { [self] _, index in
            if index == 0 { for await _ in gate.stream {} }
            return .response(self.response(index))
        }
        let provider = try self.provider(server)
        let subject = self.subject
        let before = Task { try await provider.token(for: subject) }
        await server.waitForRequests(1)
        self.phone.advance(by: .seconds(5000))
        // Whether the wake-up or this call comes first, this call gets a token of a new fetch.
        let after = try await self.retrying { try await provider.token(for: subject) }
        gate.continuation.finish()
        _ = try? await before.value
        #expect(try await provider.token(for: subject) == after)
    }

    /// Tries again while the back-off after the first failure lasts.
    private func retrying(_ work: () async throws -> FleetToken) async throws -> FleetToken {
        for _ in 0..<100 {
            if let token = try? await work() { return token }
            self.phone.advance(by: .seconds(1))
        }
        return try await work()
    }

    @Test func `an answer that slept on its way is used for what is left of its token`() async throws {
        let server = StubTransport { [self] _, index in
            let response = self.response(index)
            if index == 0 { self.phone.advance(by: .seconds(7)) }
            return .response(response)
        }
        let provider = try self.provider(server)
        _ = try await provider.token(for: self.subject)
        #expect(try await provider.ensure(valid: .zero, for: self.subject) == .seconds(3293))
    }

    @Test func `a clock that stands still in sleep is refused`() throws {
        let error = #expect(throws: TokenClientError.self) {
            try FleetTokenProvider(endpoint: self.endpoint, transport: self.server(), clock: SuspendingClock())
        }
        #expect(error?.code == .invalidConfiguration)
    }

    // MARK: Figures

    @Test func `hits, waits, fetches and failures are counted`() async throws {
        let server = StubTransport { [self] _, index in
            self.phone.advance(by: .seconds(4 - index))
            return index == 1 ? .failure(URLError(.timedOut)) : .response(self.response(index))
        }
        let provider = try self.provider(server)
        #expect(provider.metrics == TokenMetrics())
        let token = try await provider.token(for: self.subject)
        for _ in 0..<9 { _ = try await provider.token(for: self.subject) }
        provider.invalidate(token, for: self.subject)
        await #expect(throws: TokenClientError.self) { try await provider.token(for: self.subject) }
        // Whoever gets the error at once neither waits nor gets a token.
        await #expect(throws: TokenClientError.self) { try await provider.token(for: self.subject) }
        self.phone.advance(by: .seconds(2))
        _ = try await provider.token(for: self.subject)
        var expected = TokenMetrics()
        (expected.hits, expected.waits, expected.fetches) = (9, 3, 2)
        (expected.failures, expected.refusals) = (1, 1)
        (expected.waited, expected.longestWait) = (.seconds(2 + 3 + 4), .seconds(4))
        #expect(provider.metrics == expected)
    }

    @Test(arguments: 0..<UInt64(20))
    func `a day of reports costs at most a fetch per half hour, and only the first waits`(
        seed: UInt64
    ) throws {
        var bench = try MachineBench(seed: seed)
        var landed = 0
        var waits = 0
        for _ in 0..<(24 * 360) {
            let caller = bench.request()
            if bench.isWaiting(caller) { waits += 1 }
            bench.advance(.seconds(2))
            if bench.started.count > landed {
                bench.land(.seconds(3300))
                landed += 1
            }
            bench.advance(.seconds(8))
        }
        #expect((24...48).contains(bench.started.count), "\(bench.started.count)")
        #expect(waits == 1)
    }

    // MARK: What hangs

    /// A store that never answers.
    private struct SilentStore: TokenStore {
        let silence: @Sendable () async throws -> Void

        func load(_ subject: TokenSubject) async throws -> StoredToken? {
            try await self.silence()
            return nil
        }
        func save(_ token: StoredToken, for subject: TokenSubject) async throws {}
        func remove(_ subject: TokenSubject) async throws {}
        func removeAll() async throws {}
    }

    @Test(arguments: [
        (nil, "store", "The token store did not answer within 8.0 seconds, so the token server was not asked."),
        (
            nil, "credentials",
            "The app's credentials closure did not answer within 8.0 seconds, so the token server was not asked."
        ),
        (
            nil, "proof",
            "The app's proof closure (App Attest, DeviceCheck or the like) did not answer within 8.0 seconds, "
                + "so the token server was not asked."
        ),
        (nil, "server", "The token server did not answer within 8.0 seconds."),
        (
            "credentials", "server",
            "The token server did not answer within the 0.5 seconds left of 8.0 seconds, of which the app's "
                + "credentials closure took 7.5 seconds."
        ),
        (
            "store", "credentials",
            "The app's credentials closure did not answer within the 0.5 seconds left of 8.0 seconds, of which the "
                + "token store took 7.5 seconds, so the token server was not asked."
        ),
    ])
    func `when the time is up, the error names what did not answer, and what left it no time`(
        slow: String?, hanging: String, message: String
    ) async throws {
        let (reached, reach) = AsyncStream.makeStream(of: Void.self)
        @Sendable func step(_ name: String) async throws {
            if name == slow { self.phone.advance(by: .seconds(7.5)) }
            guard name == hanging else { return }
            reach.yield()
            // Nothing comes, until the task is cancelled.
            let (silence, sink) = AsyncStream.makeStream(of: Never.self)
            for await _ in silence {}
            sink.finish()
            throw CancellationError()
        }
        let server = StubTransport { _, _ in
            try await step("server")
            return .silence
        }
        let provider = try FleetTokenProvider(
            endpoint: self.endpoint, transport: server, clock: self.phone.clock,
            store: SilentStore { try await step("store") }, deviceClock: self.phone.deviceClock
        ) {
            try await step("credentials")
            return []
        } proof: { _ in
            try await step("proof")
            return []
        }
        let subject = self.subject
        let call = Task { try await provider.token(for: subject) }
        for await _ in reached { break }
        await self.phone.clock.waitForSleepers(1)
        self.phone.advance(by: .seconds(8))
        let error = await #expect(throws: TokenClientError.self) { try await call.value }
        #expect(error?.code == .timedOut)
        #expect(error?.message == message)
        #expect(server.requests.count == (hanging == "server" ? 1 : 0))
    }

    @Test(
        arguments: [
            (nil, nil, "The token server did not answer within 8.0 seconds."),
            (
                6.0, nil,
                "The token server did not answer within the 2.0 seconds left of 8.0 seconds, of which the app's credentials "
                    + "closure took 6.0 seconds."
            ),
            (nil, 5.0, "The transport says why."),
        ] as [(Double?, Double?, String)])
    func `a transport's end of time is told with what left it no time, and one before that in its own words`(
        slow: Double?, early: Double?, message: String
    ) async throws {
        let phone = self.phone
        let server = StubTransport { request, _ in
            phone.advance(by: early.map { .seconds($0) } ?? request.timeout)
            throw TokenClientError(code: .timedOut, message: "The transport says why.")
        }
        let provider = try FleetTokenProvider(
            endpoint: self.endpoint, transport: server, clock: phone.clock, deviceClock: phone.deviceClock
        ) {
            phone.advance(by: .seconds(slow ?? 0))
            return []
        }
        let error = await #expect(throws: TokenClientError.self) { try await provider.token(for: self.subject) }
        #expect(error?.code == .timedOut && error?.message == message)
    }

    // MARK: Priorities

    /// With which priority each of a provider's surroundings is called.
    private struct PriorityLog: Sendable {
        let calls: AsyncStream<(name: String, priority: TaskPriority)>
        private let sink: AsyncStream<(name: String, priority: TaskPriority)>.Continuation

        init() {
            (self.calls, self.sink) = AsyncStream.makeStream()
        }

        func note(_ name: String) {
            self.sink.yield((name, Task.currentPriority))
        }

        func finish() {
            self.sink.finish()
        }
    }

    private struct LoggedClock: Clock {
        let clock: ManualClock
        let log: PriorityLog
        var now: ManualClock.Instant { self.clock.now }
        var minimumResolution: Duration { self.clock.minimumResolution }

        func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {
            self.log.note("clock")
            try await self.clock.sleep(until: deadline, tolerance: tolerance)
        }
    }

    private struct LoggedStore: TokenStore {
        let log: PriorityLog

        func load(_ subject: TokenSubject) async throws -> StoredToken? {
            self.log.note("load")
            return nil
        }
        func save(_ token: StoredToken, for subject: TokenSubject) async throws {
            self.log.note("save")
        }
        func remove(_ subject: TokenSubject) async throws {}
        func removeAll() async throws {}
    }

    @Test func `a fetch that begins in the background is as urgent as one that somebody waits for`() async throws {
        let log = PriorityLog()
        let (phone, endpoint, subject) = (self.phone, self.endpoint, self.subject)
        let server = StubTransport { [self] _, index in
            log.note("server")
            // The wake-ups lie down beside the fetch.
            await phone.clock.waitForSleepers(1)
            return .response(self.response(index))
        }
        let prefetch = Task.detached(priority: .background) {
            defer { log.finish() }
            log.note("prefetch")
            let provider = try FleetTokenProvider(
                endpoint: endpoint, transport: server, clock: LoggedClock(clock: phone.clock, log: log),
                store: LoggedStore(log: log), deviceClock: phone.deviceClock
            ) {
                log.note("credentials")
                return []
            } proof: { _ in
                log.note("proof")
                return []
            }
            _ = try await provider.token(for: subject)
            await provider.close()
        }
        var seen: [String: TaskPriority] = [:]
        // To wait for the task itself would raise its priority.
        for await call in log.calls { seen[call.name] = call.priority }
        try await prefetch.value
        #expect(seen.removeValue(forKey: "prefetch") == .background)
        #expect(Set(seen.keys) == ["load", "credentials", "proof", "clock", "server", "save"])
        #expect(seen.values.allSatisfy { $0 == .userInitiated }, "\(seen)")
    }

    // MARK: Fetches that are given up

    enum GivingUp: CaseIterable {
        case close, deadline, restart
    }

    @Test(arguments: GivingUp.allCases, ["credentials", "proof"])
    func `a fetch that was given up asks for nothing more, and sends nothing of what the app gives late`(
        reason: GivingUp, late: String
    ) async throws {
        let (reached, reach) = AsyncStream.makeStream(of: Void.self)
        let (gate, release) = AsyncStream.makeStream(of: Never.self)
        // Of each closure, the first call waits for the gate where it is the late one, cancelled or not.
        let calls = Locked<[String: Int]>([:])
        @Sendable func call(_ name: String) async -> Int {
            let number = calls.withLock { calls in
                calls[name, default: 0] += 1
                return calls[name, default: 0]
            }
            if name == late, number == 1 {
                reach.yield()
                await Task { for await _ in gate {} }.value
            }
            return number
        }
        let server = self.server()
        let provider = try self.provider(server) {
            [(name: "Session", value: "\(await call("credentials"))")]
        } proof: { _ in
            _ = await call("proof")
            return []
        }
        let subject = self.subject
        let caller = Task { try await provider.token(for: subject) }
        for await _ in reached { break }
        await self.phone.clock.waitForSleepers(1)
        switch reason {
        case .close:
            await provider.close()
            await #expect(throws: TokenClientError.self) { try await caller.value }
        case .deadline:
            self.phone.advance(by: .seconds(8))
            await #expect(throws: TokenClientError.self) { try await caller.value }
        case .restart:
            self.phone.advance(by: .seconds(8))
            _ = try await self.retrying { try await provider.token(for: subject) }
        }
        release.finish()
        // Time enough for what was given up to go on, if it did.
        for _ in 0..<10_000 { await Task.yield() }
        let isRestarted = reason == .restart
        let sessions = server.requests.map { request in request.headers.first { $0.name == "Session" }?.value }
        #expect(sessions == (isRestarted ? ["2"] : []))
        let asked = calls.withLock { $0 }
        #expect(asked["credentials"] == (isRestarted ? 2 : 1))
        #expect(asked["proof", default: 0] == (isRestarted ? 1 : 0) + (late == "proof" ? 1 : 0))
    }

    // MARK: Proofs

    @Test func `a proof covers the request and a nonce of its own, after the credentials`() async throws {
        let challenges = Locked<[TokenRequestChallenge]>([])
        let order = Locked<[String]>([])
        let server = self.server()
        let provider = try self.provider(server) {
            order.withLock { $0.append("credentials") }
            return [(name: "Authorization", value: "Bearer session")]
        } proof: { challenge in
            order.withLock { $0.append("proof") }
            challenges.withLock { $0.append(challenge) }
            return [(name: "App-Attest-Assertion", value: challenge.clientData.base64EncodedString())]
        }
        for _ in 0..<2 {
            provider.invalidate(try await provider.token(for: self.subject), for: self.subject)
        }
        #expect(order.withLock { $0 } == ["credentials", "proof", "credentials", "proof"])
        let seen = challenges.withLock { $0 }
        #expect(Set(seen.map(\.nonce)).count == 2 && seen.allSatisfy { $0.nonce.utf8.count == 22 })
        for (request, challenge) in zip(server.requests, seen) {
            #expect(challenge.url == request.url && challenge.method == request.method)
            #expect(request.headers.contains { $0 == ("Fleetpass-Nonce", challenge.nonce) })
            let signed = "GET\nhttps://tokens.example.com/token/driver/veh-3\n\(challenge.nonce)"
            #expect(challenge.clientData == Data(signed.utf8))
            let assertion = challenge.clientData.base64EncodedString()
            #expect(request.headers.contains { $0 == ("App-Attest-Assertion", assertion) })
        }
    }

    /// What a closure of the app may throw, and what becomes of it.
    static let closureFailures: [(any Error, TokenClientError.Code)] = {
        let unreachable: [URLError.Code] = [
            .notConnectedToInternet, .secureConnectionFailed, .serverCertificateUntrusted,
            .serverCertificateHasBadDate, .serverCertificateNotYetValid, .httpTooManyRedirects, .cannotParseResponse,
            .badServerResponse, .resourceUnavailable, .cancelled,
        ]
        let wrapped = NSError(domain: NSURLErrorDomain, code: URLError.Code.timedOut.rawValue)
        let wrapping = NSError(domain: "com.example.http", code: 1, userInfo: [NSUnderlyingErrorKey: wrapped])
        var failures: [(any Error, TokenClientError.Code)] = [
            (URLError(.timedOut), .timedOut),
            (URLError(.userAuthenticationRequired), .refused),
            (URLError(.userCancelledAuthentication), .refused),
            (Self.identityError(URLError(.serverCertificateUntrusted)), .unreachable),
            (Self.identityError(wrapping), .timedOut),
            (Self.identityError(URLError(.userAuthenticationRequired)), .refused),
            (Self.identityError(SignedOut()), .refused),
            (NSError(domain: NSURLErrorDomain, code: -1), .unreachable),
            (NSError(domain: "com.example.identity", code: 17), .refused),
            (WrappingItself(), .refused),
            (CancellationError(), .unreachable),
            (SessionError.network(cause: URLError(.notConnectedToInternet)), .unreachable),
            (SessionError.renewal(SessionError.network(cause: URLError(.timedOut)), attempts: 3), .timedOut),
            (SessionError.network(cause: URLError(.userAuthenticationRequired)), .refused),
            (SessionError.renewal(CancellationError(), attempts: 1), .unreachable),
            (SessionError.renewal(SignedOut(), attempts: 1), .refused),
            (SessionError.signedOut, .refused),
            (WithCause(cause: URLError(.timedOut)), .timedOut),
            (WithCause(cause: Self.identityError(URLError(.notConnectedToInternet))), .unreachable),
            (WithCause(cause: nil), .refused),
            (Self.identityError(WithCause(cause: wrapped)), .timedOut),
            (HoldingItself(), .refused),
            (TokenClientError(code: .rateLimited, message: "Wait."), .rateLimited),
        ]
        for code in unreachable { failures.append((URLError(code), .unreachable)) }
        return failures
    }()

    /// An error as the SDKs of identity providers wrap what failed them.
    private static func identityError(_ cause: any Error) -> NSError {
        NSError(domain: "com.example.identity", code: 17, userInfo: [NSUnderlyingErrorKey: cause])
    }

    /// A class that is an error, but none of Foundation's.
    private final class SignedOut: Error {}

    /// An error as apps write them: the cause is in the case.
    private enum SessionError: Error {
        case network(cause: URLError)
        case renewal(any Error, attempts: Int)
        case signedOut
    }

    private struct WithCause: Error {
        let cause: (any Error)?
    }

    private struct HoldingItself: Error, CustomReflectable {
        var customMirror: Mirror { Mirror(self, children: ["first": self, "second": self]) }
    }

    private struct WrappingItself: CustomNSError {
        var errorUserInfo: [String: Any] { [NSUnderlyingErrorKey: self] }
    }

    @Test(arguments: Self.closureFailures)
    func `only a network that fails the app's closures refuses nobody`(
        failure: any Error, code: TokenClientError.Code
    ) async throws {
        let server = self.server()
        let providers = [
            try self.provider(server, credentials: { throw failure }),
            try self.provider(server, proof: { _ in throw failure }),
        ]
        for provider in providers {
            let error = await #expect(throws: TokenClientError.self) { try await provider.token(for: self.subject) }
            #expect(error?.code == code)
        }
        #expect(server.requests.isEmpty)
    }

    @Test func `a proof that fails is a refusal that names it, and nothing is sent`() async throws {
        struct NoSecureElement: Error {}
        let server = self.server()
        let provider = try self.provider(server, proof: { _ in throw NoSecureElement() })
        let error = await #expect(throws: TokenClientError.self) { try await provider.token(for: self.subject) }
        #expect(error?.code == .refused && error?.cause is NoSecureElement)
        #expect(error?.message.contains("proof") == true)
        #expect(server.requests.isEmpty)
    }

    @Test func `without a proof no nonce is sent`() async throws {
        let server = self.server()
        _ = try await self.provider(server).token(for: self.subject)
        #expect(server.requests.first?.headers.contains { $0.name == "Fleetpass-Nonce" } == false)
    }
}
