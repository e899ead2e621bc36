// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct TokenCompletionTests {
    private typealias Outcome = Result<FleetToken, any Error>

    private let subject: TokenSubject
    private let clock = ManualClock()
    private let calls: AsyncStream<Outcome>
    private let record: @Sendable (Outcome) -> Void

    init() throws {
        self.subject = .driver(try VehicleID(checking: "veh-3"))
        let (calls, sink) = AsyncStream.makeStream(of: Outcome.self)
        self.calls = calls
        self.record = { sink.yield($0) }
    }

    /// Answers when the gate opens, whoever is cancelled meanwhile.
    private func deafProvider(_ gate: AsyncStream<Void>) -> StubTokenProvider {
        StubTokenProvider { subject, _ in
            await Task { for await _ in gate {} }.value
            return TestTokens.token(for: subject)
        }
    }

    private func endpoint() throws -> TokenEndpoint {
        try .fleetpass(try #require(URL(string: "https://tokens.example.com")))
    }

    /// Answers once, with a token that lives 55 minutes.
    private func transport() throws -> StubTransport {
        let answer = TestTokens.response(
            with: TestTokens.token(for: self.subject), from: try self.endpoint(), for: self.subject,
            life: .seconds(3300), at: TestTokens.issuedAt + 300)
        return StubTransport([.response(answer)])
    }

    private func provider() throws -> FleetTokenProvider {
        try FleetTokenProvider(endpoint: try self.endpoint(), transport: try self.transport(), clock: self.clock)
    }

    private func outcome() async throws -> Outcome {
        let outcome = await self.calls.first { _ in true }
        return try #require(outcome)
    }

    @Test func `the completion gets the token`() async throws {
        StubTokenProvider().fetchToken(for: self.subject, completion: self.record)
        #expect(try await self.outcome().get() == TestTokens.token(for: self.subject))
    }

    @Test func `the completion gets the provider's error`() async throws {
        let provider = StubTokenProvider { _, _ in throw TokenClientError(code: .refused, message: "Sign in again.") }
        provider.fetchToken(for: self.subject, completion: self.record)
        let error = await #expect(throws: TokenClientError.self) { try await self.outcome().get() }
        #expect(error?.code == .refused)
    }

    @Test func `a thousand concurrent calls get one completion each`() async throws {
        let token = TestTokens.token(for: self.subject)
        let transport = try self.transport()
        let provider = try FleetTokenProvider(endpoint: try self.endpoint(), transport: transport, clock: self.clock)
        let counts = Locked([Int](repeating: 0, count: 1_000))
        let strangers = Locked(0)
        let subject = self.subject
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<1_000 {
                group.addTask {
                    let wait = provider.fetchToken(for: subject) { outcome in
                        counts.withLock { $0[index] += 1 }
                        if (try? outcome.get()) != token { strangers.withLock { $0 += 1 } }
                    }
                    await wait.value
                }
            }
        }
        #expect(counts.withLock { $0 }.allSatisfy { $0 == 1 })
        #expect(strangers.withLock { $0 } == 0)
        #expect(transport.requests.count == 1)
    }

    @Test func `a token at hand sets no alarm`() async throws {
        let provider = try self.provider()
        let token = try await provider.token(for: self.subject)
        let recorder = SleepRecorder()
        provider.fetchToken(for: self.subject, within: .seconds(5), clock: recorder, completion: self.record)
        #expect(try await self.outcome().get() == token)
        #expect(provider.metrics.hits == 1)

        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let wait = self.deafProvider(gate).fetchToken(for: self.subject, within: .seconds(7), clock: recorder) { _ in }
        #expect(await recorder.sleeps.first { _ in true } == .seconds(7))
        opener.finish()
        await wait.value
    }

    @Test func `the longest duration there is means no limit`() async throws {
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let wait = self.deafProvider(gate).fetchToken(
            for: self.subject, within: .seconds(Int64.max), completion: self.record)
        for _ in 1...100 { await Task.yield() }
        opener.finish()
        await wait.value
        #expect(try await self.outcome().get() == TestTokens.token(for: self.subject))
    }

    @Test func `a completion gets the life that was made sure of`() async throws {
        let (lives, sink) = AsyncStream.makeStream(of: Result<Duration, any Error>.self)
        let provider = try self.provider()
        provider.ensure(valid: .seconds(2400), for: self.subject, clock: self.clock) { sink.yield($0) }
        var outcomes = lives.makeAsyncIterator()
        #expect(try await outcomes.next()?.get() == .seconds(3300))
        provider.ensure(valid: .seconds(3601), for: self.subject, clock: self.clock) { sink.yield($0) }
        let refused = await outcomes.next()
        let error = #expect(throws: TokenClientError.self) { try refused?.get() }
        #expect(error?.code == .lifeUnavailable)
    }

    @Test func `a wait for a life ends at the limit`() async throws {
        let (lives, sink) = AsyncStream.makeStream(of: Result<Duration, any Error>.self)
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let recorder = SleepRecorder()
        let provider = try FleetTokenProvider(
            endpoint: try self.endpoint(), transport: StubTransport([]), clock: self.clock,
            credentials: {
                await Task { for await _ in gate {} }.value
                return []
            })
        let wait = provider.ensure(valid: .seconds(60), for: self.subject, clock: recorder) { sink.yield($0) }
        await recorder.clock.waitForSleepers(1)
        recorder.clock.advance(by: .seconds(9))
        let late = await lives.first { _ in true }
        let error = #expect(throws: TokenClientError.self) { try late?.get() }
        #expect(error?.code == .timedOut)
        opener.finish()
        await wait.value
    }

    @Test func `a provider that hangs is left behind at the limit`() async throws {
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let count = Locked(0)
        let wait = self.deafProvider(gate).fetchToken(for: self.subject, within: .seconds(9), clock: self.clock) {
            count.withLock { $0 += 1 }
            self.record($0)
        }
        await self.clock.waitForSleepers(1)
        self.clock.advance(by: .seconds(8.999))
        #expect(count.withLock { $0 } == 0)
        self.clock.advance(by: .milliseconds(1))
        let error = await #expect(throws: TokenClientError.self) { try await self.outcome().get() }
        #expect(error?.code == .timedOut)

        // The late answer finds nobody.
        opener.finish()
        await wait.value
        #expect(count.withLock { $0 } == 1)
    }

    @Test func `a cancelled wait ends at once, whatever the provider does`() async throws {
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let provider = self.deafProvider(gate)
        let wait = provider.fetchToken(for: self.subject, clock: self.clock, completion: self.record)
        await self.clock.waitForSleepers(1)
        wait.cancel()
        let outcome = try await self.outcome()
        #expect(throws: CancellationError.self) { try outcome.get() }
        opener.finish()
        await wait.value
    }

    @Test func `the completion is called when everybody else is gone`() async throws {
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        // Nobody holds the provider but the call.
        self.deafProvider(gate).fetchToken(for: self.subject, clock: self.clock, completion: self.record)
        opener.finish()
        #expect(try await self.outcome().get() == TestTokens.token(for: self.subject))
    }

    @Test(arguments: [true, false])
    func `the completion is never called on the stack of the call`(isCached: Bool) async throws {
        let key = "in the call"
        let provider = StubTokenProvider { subject, _ in
            if !isCached { await Task.yield() }
            return TestTokens.token(for: subject)
        }
        let onStack = Locked(0)
        let waits = (0..<200).map { _ in
            Self.marked(key) {
                provider.fetchToken(for: self.subject) { _ in
                    if Thread.current.threadDictionary[key] != nil { onStack.withLock { $0 += 1 } }
                }
            }
        }
        for wait in waits { await wait.value }
        #expect(onStack.withLock { $0 } == 0)
    }

    /// Does some work while the thread bears a mark.
    private static func marked<Value>(_ key: String, _ work: () -> Value) -> Value {
        Thread.current.threadDictionary[key] = true
        defer { Thread.current.threadDictionary.removeObject(forKey: key) }
        return work()
    }
}
