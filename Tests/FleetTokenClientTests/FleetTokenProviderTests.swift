// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct FleetTokenProviderTests {
    private let clock = ManualClock()
    private let endpoint: TokenEndpoint
    private let subject: TokenSubject

    init() throws {
        self.endpoint = try .fleetpass(try #require(URL(string: "https://tokens.example.com/api")))
        self.subject = .driver(try VehicleID(checking: "veh-3"))
    }

    private func provider(
        _ transport: StubTransport, configuration: TokenCacheConfiguration = TokenCacheConfiguration(),
        credentials: @escaping FleetTokenProvider.Credentials = { [] }
    ) throws -> FleetTokenProvider {
        try FleetTokenProvider(
            endpoint: self.endpoint, transport: transport, configuration: configuration, clock: self.clock,
            deviceClock: DeviceClock(date: { Date(timeIntervalSince1970: Double(TestTokens.issuedAt + 300)) }),
            credentials: credentials)
    }

    private func answer(_ serial: Int, for subject: TokenSubject? = nil) -> StubTransport.Answer {
        let subject = subject ?? self.subject
        let token = TestTokens.token(for: subject, serial: serial)
        return .response(
            TestTokens.response(
                with: token, from: self.endpoint, for: subject, life: .seconds(3300), at: TestTokens.issuedAt + 300))
    }

    @Test func `ten thousand concurrent callers cause one fetch`() async throws {
        let gate = AsyncStream.makeStream(of: Void.self)
        let transport = StubTransport { [answer = self.answer(0)] _, _ in
            for await _ in gate.stream {}
            return answer
        }
        let provider = try self.provider(transport)
        let expected = TestTokens.token(for: self.subject)
        let subject = self.subject
        try await withThrowingTaskGroup(of: FleetToken.self) { group in
            for _ in 0..<10_000 { group.addTask { try await provider.token(for: subject) } }
            await transport.waitForRequests(1)
            gate.continuation.finish()
            for try await token in group { #expect(token == expected) }
        }
        #expect(transport.requests.count == 1)
    }

    @Test func `half of ten thousand callers are cancelled and the others get the token`() async throws {
        let gate = AsyncStream.makeStream(of: Void.self)
        let transport = StubTransport { [answer = self.answer(0)] _, _ in
            for await _ in gate.stream {}
            return answer
        }
        let provider = try self.provider(transport)
        let subject = self.subject
        let callers = (0..<10_000).map { _ in Task { try await provider.token(for: subject) } }
        await transport.waitForRequests(1)
        for index in stride(from: 0, to: callers.count, by: 2) { callers[index].cancel() }
        for index in stride(from: 0, to: callers.count, by: 2) {
            await #expect(throws: CancellationError.self) { try await callers[index].value }
        }
        gate.continuation.finish()
        for index in stride(from: 1, to: callers.count, by: 2) {
            #expect(try await callers[index].value == TestTokens.token(for: subject))
        }
        #expect(transport.requests.count == 1)
    }

    @Test func `a caller that was cancelled before it asked leaves at once`() async throws {
        let provider = try self.provider(StubTransport([.silence]))
        let subject = self.subject
        let caller = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await provider.token(for: subject)
        }
        await #expect(throws: CancellationError.self) { try await caller.value }
    }

    @Test func `the request carries path, credentials and timeout`() async throws {
        let transport = StubTransport([self.answer(0)])
        let provider = try self.provider(transport, configuration: TokenCacheConfiguration(fetchTimeout: .seconds(3))) {
            [(name: "Authorization", value: "Bearer session")]
        }
        _ = try await provider.token(for: self.subject)
        let request = try #require(transport.requests.first)
        #expect(request.method == "GET")
        #expect(request.url.absoluteString == "https://tokens.example.com/api/token/driver/veh-3")
        // Shorter than the fetch may take: the transport ends it first.
        #expect(request.timeout == .milliseconds(2800))
        let wanted = [
            ("Accept", "application/json"), ("Cache-Control", "no-store"), ("Authorization", "Bearer session"),
        ]
        #expect(request.headers.elementsEqual(wanted, by: ==))
        // Nothing is left of a fetch that has ended.
        #expect(provider.load.fetches == 0 && provider.load.callers == 0)
    }

    @Test func `credentials are asked for anew before each fetch`() async throws {
        let count = Locked(0)
        let transport = StubTransport([self.answer(0), self.answer(1)])
        let provider = try self.provider(transport) {
            let number = count.withLock { count in
                count += 1
                return count
            }
            return [(name: "Session", value: "\(number)")]
        }
        let token = try await provider.token(for: self.subject)
        provider.invalidate(token, for: self.subject)
        _ = try await provider.token(for: self.subject)
        #expect(transport.requests.compactMap { $0.headers.last?.value } == ["1", "2"])
    }

    @Test func `failing credentials are a refusal and nothing is sent`() async throws {
        struct SignedOut: Error {}
        let transport = StubTransport([self.answer(0)])
        let provider = try self.provider(transport) { throw SignedOut() }
        let error = await #expect(throws: TokenClientError.self) { try await provider.token(for: self.subject) }
        #expect(error?.code == .refused)
        #expect(error?.cause is SignedOut)
        #expect(transport.requests.isEmpty)
        #expect(provider.load.fetches == 0)
    }

    @Test func `a token is reused until it is stale, then replaced behind the caller's back`() async throws {
        let transport = StubTransport([self.answer(0), self.answer(1)])
        let provider = try self.provider(transport)
        var events = provider.events().makeAsyncIterator()
        let first = try await provider.token(for: self.subject)
        _ = await events.next()
        self.clock.advance(by: .seconds(2600))
        #expect(try await provider.token(for: self.subject) == first)
        #expect(transport.requests.count == 1)
        self.clock.advance(by: .seconds(390))
        #expect(try await provider.token(for: self.subject) == first)
        guard case .servedStale = await events.next(), case .refreshed(_, let fingerprint, _) = await events.next()
        else {
            Issue.record("the events are not servedStale, then refreshed")
            return
        }
        let second = try await provider.token(for: self.subject)
        #expect(second.fingerprint == fingerprint && second != first)
        #expect(transport.requests.count == 2)
    }

    @Test func `a transport that never answers and ignores cancellation is given up at the deadline`() async throws {
        let held = Locked<[CheckedContinuation<Void, Never>]>([])
        let transport = StubTransport { _, _ in
            await withCheckedContinuation { continuation in held.withLock { $0.append(continuation) } }
            return .silence
        }
        defer { for continuation in held.withLock({ $0 }) { continuation.resume() } }
        let provider = try self.provider(transport)
        let subject = self.subject
        let caller = Task { try await provider.token(for: subject) }
        await transport.waitForRequests(1)
        await self.clock.waitForSleepers(1)
        self.clock.advance(by: .seconds(8))
        let error = await #expect(throws: TokenClientError.self) { try await caller.value }
        #expect(error?.code == .timedOut)
    }

    @Test(arguments: [
        (status: 401, retryAfter: Int64?.none, code: TokenClientError.Code.refused),
        (status: 503, retryAfter: 120, code: .unreachable),
        (status: 504, retryAfter: 120, code: .timedOut),
    ]) func `a refusal whose body does not come in time counts, also after slow credentials`(
        status: Int, retryAfter: Int64?, code: TokenClientError.Code
    ) async throws {
        let clock = self.clock
        let transport = StubTransport { request, _ in
            try await clock.sleep(until: clock.now.advanced(by: request.timeout), tolerance: nil)
            let headers = retryAfter.map { [(name: "Retry-After", value: "\($0)")] } ?? []
            return .response(HTTPTransportResponse(status: status, headers: headers))
        }
        let provider = try self.provider(transport) {
            clock.advance(by: .seconds(1))
            return []
        }
        let subject = self.subject
        let caller = Task { try await provider.token(for: subject) }
        // The transport's and the provider's own.
        await clock.waitForSleepers(2)
        let timeout = try #require(transport.requests.first).timeout
        #expect(timeout == .milliseconds(6800))
        clock.advance(by: timeout)
        let error = await #expect(throws: TokenClientError.self) { try await caller.value }
        #expect(error?.code == code && error?.httpStatus == status)
        #expect(error?.retryAfter == retryAfter.map { .seconds($0) })
    }

    @Test(arguments: [(limit: 50, request: 45), (limit: 1, request: 1)])
    func `a request has time also within a very short limit`(limit: Int, request: Int) async throws {
        let transport = StubTransport([self.answer(0)])
        let configuration = TokenCacheConfiguration(fetchTimeout: .milliseconds(limit))
        _ = try await self.provider(transport, configuration: configuration).token(for: self.subject)
        #expect(transport.requests.map(\.timeout) == [.milliseconds(request)])
    }

    @Test func `a failed refresh leaves the valid token in use`() async throws {
        let transport = StubTransport([self.answer(0), .failure(URLError(.notConnectedToInternet))])
        let provider = try self.provider(transport)
        let token = try await provider.token(for: self.subject)
        self.clock.advance(by: .seconds(3200))
        #expect(try await provider.token(for: self.subject) == token)
        #expect(transport.requests.count == 2)
        self.clock.advance(by: .seconds(101))
        let error = await #expect(throws: TokenClientError.self) { try await provider.token(for: self.subject) }
        #expect(error?.code == .unreachable)
    }

    @Test func `a token for another vehicle is thrown away`() async throws {
        let other = TokenSubject.driver(try VehicleID(checking: "veh-4"))
        let token = TestTokens.token(for: other)
        let response = TestTokens.response(
            with: token, from: self.endpoint, for: other, life: .seconds(3300), at: TestTokens.issuedAt + 300)
        let provider = try self.provider(StubTransport([.response(response)]))
        let error = await #expect(throws: TokenClientError.self) { try await provider.token(for: self.subject) }
        #expect(error?.code == .wrongToken)
    }

    @Test func `the provider may be released while a caller waits`() async throws {
        let gate = AsyncStream.makeStream(of: Void.self)
        let transport = StubTransport { [answer = self.answer(0)] _, _ in
            for await _ in gate.stream {}
            return answer
        }
        let subject = self.subject
        let caller = try {
            let provider = try self.provider(transport)
            return Task { try await provider.token(for: subject) }
        }()
        await transport.waitForRequests(1)
        gate.continuation.finish()
        #expect(try await caller.value == TestTokens.token(for: subject))
    }

    @Test func `after a sign-in the next call fetches at once`() async throws {
        let isSignedIn = Locked(false)
        let transport = StubTransport([self.answer(0)])
        let provider = try self.provider(transport) {
            guard isSignedIn.withLock({ $0 }) else {
                throw TokenClientError(code: .refused, message: "Nobody is signed in.", retryAfter: .seconds(600))
            }
            return []
        }
        for _ in 1...3 {
            let error = await #expect(throws: TokenClientError.self) { try await provider.token(for: self.subject) }
            #expect(error?.code == .refused)
        }
        isSignedIn.withLock { $0 = true }
        await #expect(throws: TokenClientError.self) { try await provider.token(for: self.subject) }
        #expect(transport.requests.isEmpty)
        provider.retryNow()
        // The clock stands still: no pause passes.
        #expect(try await provider.token(for: self.subject) == TestTokens.token(for: self.subject))
        #expect(transport.requests.count == 1)
    }

    @Test func `the event stream ends with the provider and keeps the newest events only`() async throws {
        let transport = StubTransport((0..<10).map { self.answer($0) })
        let stream = try await {
            let provider = try self.provider(transport, configuration: TokenCacheConfiguration(refusalsPerMinute: 100))
            let stream = provider.events(bufferingNewest: 3)
            for _ in 0..<10 {
                let token = try await provider.token(for: self.subject)
                provider.invalidate(token, for: self.subject)
            }
            return stream
        }()
        var kinds: [String] = []
        for await event in stream {
            switch event {
            case .fetched: kinds.append("fetched")
            case .refused: kinds.append("refused")
            default: kinds.append("other")
            }
        }
        #expect(kinds == ["refused", "fetched", "refused"])
    }

    @Test(arguments: [
        TokenCacheConfiguration(capacity: 0),
        TokenCacheConfiguration(minimumLife: .seconds(-1)),
        TokenCacheConfiguration(minimumLife: .seconds(3000)),
        TokenCacheConfiguration(minimumLife: .seconds(1801), refreshBefore: .seconds(1801)),
        TokenCacheConfiguration(refreshBefore: .seconds(200)),
        TokenCacheConfiguration(refreshBefore: .seconds(3601)),
        TokenCacheConfiguration(fetchTimeout: .zero),
        TokenCacheConfiguration(fetchTimeout: .seconds(3601)),
        TokenCacheConfiguration(patience: .seconds(-1)),
        TokenCacheConfiguration(patience: .seconds(3601)),
        TokenCacheConfiguration(backOffBase: .zero),
        TokenCacheConfiguration(backOffBase: .seconds(10), backOffCap: .seconds(5)),
        TokenCacheConfiguration(backOffCap: .seconds(3601)),
        TokenCacheConfiguration(retryAfterLimit: .seconds(-1)),
        TokenCacheConfiguration(retryAfterLimit: .seconds(86_401)),
        TokenCacheConfiguration(refusalsPerMinute: 0),
        TokenCacheConfiguration(refusalsPerMinute: 1001),
    ]) func `a setting out of range is refused`(configuration: TokenCacheConfiguration) throws {
        let error = #expect(throws: TokenClientError.self) {
            try self.provider(StubTransport([]), configuration: configuration)
        }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test(arguments: [
        TokenCacheConfiguration(
            capacity: 1, minimumLife: .zero, refreshBefore: .zero, patience: .zero, backOffBase: .seconds(1),
            backOffCap: .seconds(1), retryAfterLimit: .zero, refusalsPerMinute: 1),
        TokenCacheConfiguration(
            minimumLife: .seconds(1800), refreshBefore: .seconds(3600), fetchTimeout: .seconds(3600),
            patience: .seconds(3600), backOffCap: .seconds(3600), retryAfterLimit: .seconds(86_400),
            refusalsPerMinute: 1000),
        TokenCacheConfiguration(minimumLife: .seconds(300), refreshBefore: .seconds(300)),
    ]) func `a setting at either end of its range is taken`(configuration: TokenCacheConfiguration) {
        #expect(throws: Never.self) { try self.provider(StubTransport([]), configuration: configuration) }
    }
}
