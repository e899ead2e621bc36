// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

@testable import struct FleetTokenClient.StoredToken

/// Tokens that outlive the process.
@Suite(.timeLimit(.minutes(10))) struct TokenStoreTests {
    /// A store in memory that tells what is done to it.
    private final class MemoryStore: TokenStore {
        enum Change: Equatable { case saved, removed, cleared }
        struct Broken: Error {}

        let changes: AsyncStream<Change>
        private let continuation: AsyncStream<Change>.Continuation
        private let tokens = Locked<[TokenSubject: StoredToken]>([:])
        private let isBroken: Bool

        init(isBroken: Bool = false) {
            self.isBroken = isBroken
            (self.changes, self.continuation) = AsyncStream.makeStream()
        }

        func load(_ subject: TokenSubject) async throws -> StoredToken? {
            if self.isBroken { throw Broken() }
            return self.tokens.withLock { $0[subject] }
        }

        func save(_ token: StoredToken, for subject: TokenSubject) async throws {
            if self.isBroken { throw Broken() }
            self.tokens.withLock { $0[subject] = token }
            self.continuation.yield(.saved)
        }

        func remove(_ subject: TokenSubject) async throws {
            self.tokens.withLock { $0[subject] = nil }
            self.continuation.yield(.removed)
        }

        func removeAll() async throws {
            self.tokens.withLock { $0 = [:] }
            self.continuation.yield(.cleared)
        }

        func waitForChange() async -> Change? {
            await self.changes.first { _ in true }
        }
    }

    private let phone = TestPhone()
    private let endpoint: TokenEndpoint
    private let subject: TokenSubject
    private let store = MemoryStore()

    init() throws {
        self.endpoint = try .fleetpass(try #require(URL(string: "https://tokens.example.com")))
        self.subject = .driver(try VehicleID(checking: "veh-3"))
    }

    private func server() -> StubTransport {
        StubTransport { [phone, endpoint, subject] _, index in
            let serverTime = TestTokens.issuedAt + 300 + phone.clock.now.sinceStart.components.seconds
            let token = TestTokens.token(for: subject, issuedAt: serverTime - 300, serial: index)
            return .response(
                TestTokens.response(with: token, from: endpoint, for: subject, life: .seconds(3300), at: serverTime))
        }
    }

    /// A new process of the app.
    private func process(_ server: StubTransport, store: (any TokenStore)? = nil) throws -> FleetTokenProvider {
        try FleetTokenProvider(
            endpoint: self.endpoint, transport: server, clock: self.phone.clock, store: store ?? self.store,
            deviceClock: self.phone.deviceClock)
    }

    private let down = StubTransport([])

    /// Fetches a token in a first process and waits until it is stored.
    private func storeToken() async throws -> FleetToken {
        let token = try await self.process(self.server()).token(for: self.subject)
        #expect(await self.store.waitForChange() == .saved)
        return token
    }

    @Test func `the next process uses the stored token without a fetch`() async throws {
        let token = try await self.storeToken()
        self.phone.advance(by: .seconds(1200))
        let next = try self.process(self.down)
        let events = next.events()
        #expect(try await next.token(for: self.subject) == token)
        #expect(self.down.requests.isEmpty)
        for await event in events {
            guard case .restored(_, let fingerprint, let life) = event else { continue }
            #expect(fingerprint == token.fingerprint)
            // A minute is kept back, and half of the second that the clocks are not sure of.
            #expect(life == .milliseconds((3300 - 1200 - 60) * 1000 - 500))
            break
        }
        #expect(next.metrics.fetches == 0 && next.metrics.waits == 1)
    }

    @Test func `a token near its end is replaced, and used when the server is away`() async throws {
        let token = try await self.storeToken()
        self.phone.advance(by: .seconds(3100))
        #expect(try await self.process(self.down).token(for: self.subject) == token)
        #expect(self.down.requests.count == 1)
        #expect(try await self.process(self.server()).token(for: self.subject) != token)
    }

    /// What happens to the phone between two processes, and whether the token may still be used.
    enum Between: CaseIterable {
        case nothing, hourPasses, hourPassesAndDateIsSetBack, startedAnew, startedAnewAfterAnHour, dateSetBeforeSaving
        case dateSetFarAhead, startedAnewAndDateIsSetBackAfterAnHour

        var isUsable: Bool { self == .nothing || self == .startedAnew }

        func happen(to phone: TestPhone) {
            switch self {
            case .nothing: break
            case .hourPasses: phone.advance(by: .seconds(3300))
            case .hourPassesAndDateIsSetBack:
                phone.advance(by: .seconds(3300))
                phone.setDate(ahead: .seconds(-3000))
            case .startedAnew: phone.startAnew()
            case .startedAnewAfterAnHour:
                phone.advance(by: .seconds(3300))
                phone.startAnew()
            case .dateSetBeforeSaving: phone.setDate(ahead: .seconds(-10))
            case .dateSetFarAhead: phone.setDate(ahead: .seconds(86_400))
            case .startedAnewAndDateIsSetBackAfterAnHour:
                phone.startAnew()
                phone.advance(by: .seconds(3300))
                phone.setDate(ahead: .seconds(-3200))
            }
        }
    }

    @Test(arguments: Between.allCases) func `only what is surely alive is used`(between: Between) async throws {
        let token = try await self.storeToken()
        between.happen(to: self.phone)
        let next = try self.process(self.down)
        if between.isUsable {
            #expect(try await next.token(for: self.subject) == token)
        } else {
            await #expect(throws: TokenClientError.self) { try await next.token(for: self.subject) }
            #expect(self.down.requests.count == 1)
        }
    }

    /// How long a token is surely alive that was stored with 600 s to go, long before its own end.
    private func life(
        age date: Int, sinceBoot: Int, savedOffset: Int? = nil, offset: Int? = nil, life: Int = 600
    ) -> Duration? {
        let savedAt = Date(timeIntervalSince1970: Double(TestTokens.issuedAt + 300))
        let stored = StoredToken(
            token: TestTokens.token(for: self.subject), life: .seconds(life), savedAt: savedAt,
            sinceBoot: .seconds(50_000), clockOffset: savedOffset.map { .seconds($0) })
        let clock = DeviceClock(date: { savedAt + Double(date) }, sinceBoot: { .seconds(sinceBoot) })
        return stored.grant(for: self.subject, at: clock, clockOffset: offset.map { .seconds($0) })?.life
    }

    @Test func `of all ages that a phone can tell the longest counts`() {
        #expect(self.life(age: 0, sinceBoot: 50_000) == .seconds(540))
        #expect(self.life(age: 100, sinceBoot: 50_200) == .seconds(340))
        #expect(self.life(age: 200, sinceBoot: 50_100) == .seconds(340))
        // Started anew: the date tells more than the time since then, or less.
        #expect(self.life(age: 200, sinceBoot: 100) == .seconds(340))
        #expect(self.life(age: 100, sinceBoot: 200) == .seconds(340))
        #expect(self.life(age: 539, sinceBoot: 50_000) == .seconds(1) && self.life(age: 540, sinceBoot: 50_000) == nil)
    }

    @Test func `the clock error that is known now goes before the one at the time of saving`() {
        // The token itself ends after 3300 s by the server's clock.
        func left(savedOffset: Int?, offset: Int?) -> Duration? {
            self.life(age: 0, sinceBoot: 50_000, savedOffset: savedOffset, offset: offset, life: 3600)
        }
        #expect(left(savedOffset: nil, offset: nil) == .seconds(3240))
        #expect(left(savedOffset: -1000, offset: nil) == .seconds(2240))
        #expect(left(savedOffset: -1000, offset: -2000) == .seconds(1240))
        #expect(left(savedOffset: -2000, offset: -1000) == .seconds(2240))
    }

    @Test func `a refused token is removed`() async throws {
        let provider = try self.process(self.server())
        let token = try await provider.token(for: self.subject)
        #expect(await self.store.waitForChange() == .saved)
        provider.invalidate(token, for: self.subject)
        #expect(await self.store.waitForChange() == .removed)
        #expect(try await self.store.load(self.subject) == nil)
    }

    @Test func `another subject's token under this one's name is not used`() async throws {
        let other = TestTokens.token(for: .driver(try VehicleID(checking: "veh-4")))
        let clock = self.phone.deviceClock
        let stored = StoredToken(token: other, life: .seconds(3300), savedAt: clock.date, sinceBoot: clock.sinceBoot)
        try await self.store.save(stored, for: self.subject)
        let token = try await self.process(self.server()).token(for: self.subject)
        #expect(token != other)
    }

    @Test func `a broken store is told and fails no call`() async throws {
        let provider = try self.process(self.server(), store: MemoryStore(isBroken: true))
        let events = provider.events()
        _ = try await provider.token(for: self.subject)
        var failures = 0
        for await event in events {
            guard case .storeFailed(_, let error) = event else { continue }
            #expect(error.code == .storeFailed && error.cause is MemoryStore.Broken)
            failures += 1
            if failures == 2 { break }
        }
    }

    @Test func `a store that hangs costs no more than the fetch's time limit`() async throws {
        struct HangingStore: TokenStore {
            let asked: AsyncStream<Void>.Continuation
            func load(_ subject: TokenSubject) async throws -> StoredToken? {
                self.asked.yield()
                try await Task.sleep(for: .seconds(1000))
                return nil
            }
            func save(_ token: StoredToken, for subject: TokenSubject) async throws {}
            func remove(_ subject: TokenSubject) async throws {}
            func removeAll() async throws {}
        }
        let (stream, asked) = AsyncStream.makeStream(of: Void.self)
        let provider = try self.process(self.server(), store: HangingStore(asked: asked))
        let subject = self.subject
        let caller = Task { try await provider.token(for: subject) }
        _ = await stream.first { true }
        await self.phone.clock.waitForSleepers(1)
        self.phone.advance(by: .seconds(8))
        let error = await #expect(throws: TokenClientError.self) { try await caller.value }
        #expect(error?.code == .timedOut)
    }

    @Test func `after a provider's end nothing is written, so that a sign-out leaves nothing behind`() async throws {
        let (held, release) = AsyncStream.makeStream(of: Void.self)
        let server = self.server()
        let late = StubTransport { request, index in
            // A task of its own, which no cancellation reaches.
            if index == 1 { await Task { for await _ in held {} }.value }
            return .response(try await server.send(request))
        }
        let provider = try self.process(late)
        let subject = self.subject
        provider.invalidate(try await provider.token(for: subject), for: subject)
        let caller = Task { try await provider.token(for: subject) }
        await late.waitForRequests(2)
        await provider.close()
        let error = await #expect(throws: TokenClientError.self) { try await caller.value }
        #expect(error?.code == .refused)
        try await self.store.removeAll()
        release.finish()
        await server.waitForRequests(2)
        for _ in 0..<1_000 { await Task.yield() }
        #expect(try await self.store.load(subject) == nil)
        await #expect(throws: TokenClientError.self) { try await provider.token(for: subject) }
        #expect(late.requests.count == 2)
    }

    @Test func `a provider that was ended hands nothing out, though its writes are not done`() async throws {
        let server = self.server()
        let provider = try self.process(server)
        _ = try await provider.token(for: self.subject)
        provider.endCalls()
        let error = await #expect(throws: TokenClientError.self) { try await provider.token(for: self.subject) }
        #expect(error?.code == .refused)
        #expect(server.requests.count == 1)
    }

    @Test func `the end of a provider waits for what is being written`() async throws {
        struct SlowStore: TokenStore {
            let store: MemoryStore
            func load(_ subject: TokenSubject) async throws -> StoredToken? { nil }
            func save(_ token: StoredToken, for subject: TokenSubject) async throws {
                for _ in 0..<1_000 { await Task.yield() }
                try await self.store.save(token, for: subject)
            }
            func remove(_ subject: TokenSubject) async throws {}
            func removeAll() async throws {}
        }
        let provider = try self.process(self.server(), store: SlowStore(store: self.store))
        let token = try await provider.token(for: self.subject)
        await provider.close()
        #expect(try await self.store.load(self.subject)?.token == token)
    }

    @Test func `a record survives its bytes and shows no token`() throws {
        let token = TestTokens.token(for: self.subject)
        let stored = StoredToken(
            token: token, life: .milliseconds(3_299_250), savedAt: Date(timeIntervalSince1970: 1_767_225_900.5),
            sinceBoot: .milliseconds(12_345), clockOffset: .milliseconds(-61_500))
        #expect(try StoredToken(serialized: stored.serialized) == stored)
        var dumped = ""
        dump(stored, to: &dumped)
        for part in token.compactSerialization.split(separator: ".") {
            #expect(!"\(stored) \(dumped)".contains(part))
        }
    }

    @Test func `a record of another version, or one that is longer than any, is not read`() throws {
        func isRead(version: Int, pad: Int) -> Bool {
            let record =
                #"{"version":\#(version),"token":"a.b.c","life_ms":1,"saved_at_ms":1,"since_boot_ms":1,"#
                + #""pad":"\#(String(repeating: "x", count: pad))"}"#
            return (try? StoredToken(serialized: Data(record.utf8))) != nil
        }
        #expect(isRead(version: 1, pad: 0))
        #expect(!isRead(version: 2, pad: 0) && !isRead(version: 0, pad: 0))
        #expect(!isRead(version: 1, pad: TokenEndpoint.maximumAnswerBytes))
    }

    @Test(arguments: [
        "", "{}", "[1]", "{\"version\":2}", "\u{0}\u{1}",
        #"{"version":1,"token":7,"life_ms":1,"saved_at_ms":1,"since_boot_ms":1}"#,
        String(repeating: "x", count: 100_000),
    ]) func `damaged bytes are an error without their content`(text: String) throws {
        let error = #expect(throws: TokenClientError.self) { try StoredToken(serialized: Data(text.utf8)) }
        #expect(error?.code == .storeFailed)
    }

    @Test(arguments: [Int64.min, -1, 0, 3_600_001, .max])
    func `a life that no token has is not believed`(milliseconds: Int64) async throws {
        let token = TestTokens.token(for: self.subject).compactSerialization
        let savedAt = (TestTokens.issuedAt + 300) * 1000
        let record =
            #"{"version":1,"token":"\#(token)","life_ms":\#(milliseconds),"saved_at_ms":\#(savedAt),"#
            + #""since_boot_ms":50000000}"#
        try await self.store.save(StoredToken(serialized: Data(record.utf8)), for: self.subject)
        await #expect(throws: TokenClientError.self) { try await self.process(self.down).token(for: self.subject) }
    }
}
