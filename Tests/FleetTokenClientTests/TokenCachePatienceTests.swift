// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

/// How long callers wait for a newer token while the one in hand is in its last minutes, and the server says nothing.
@Suite(.timeLimit(.minutes(10))) struct TokenCachePatienceTests {
    /// A token in its last minutes, a caller who waits for a newer one, and the fetch.
    private static func expiring() throws -> (
        bench: MachineBench, old: FleetToken, caller: UInt64, flight: TokenCacheMachine.FlightID
    ) {
        var bench = try MachineBench()
        bench.request()
        let old = bench.land()
        bench.advance(.seconds(3001))
        let caller = bench.request()
        return (bench, old, caller, try #require(bench.flight))
    }

    @Test func `after a short wait the valid token is served, and the fetch goes on`() throws {
        var (bench, old, caller, flight) = try Self.expiring()
        bench.advance(.milliseconds(1999))
        bench.feed(.patienceEnded(flight))
        #expect(bench.isWaiting(caller))
        bench.advance(.milliseconds(1))
        bench.feed(.patienceEnded(flight))
        #expect(bench.token(of: caller) == old)
        #expect(bench.stopped.isEmpty)
        let new = bench.land()
        #expect(bench.tokenNow() == new)
        #expect(bench.started.count == 2)
    }

    @Test func `nobody waits for a fetch that takes long already`() throws {
        var (bench, old, _, _) = try Self.expiring()
        bench.advance(.seconds(2))
        #expect(bench.tokenNow() == old)
        #expect(bench.started.count == 2)
    }

    @Test func `who has no valid token waits on`() throws {
        var bench = try MachineBench()
        let caller = bench.request()
        bench.advance(.seconds(2))
        bench.feed(.patienceEnded(try #require(bench.flight)))
        #expect(bench.isWaiting(caller))
    }

    @Test func `a token that ends during the wait is not served`() throws {
        var bench = try MachineBench()
        bench.request()
        bench.land()
        bench.advance(.seconds(3299))
        let caller = bench.request()
        bench.advance(.seconds(2))
        bench.feed(.patienceEnded(try #require(bench.flight)))
        #expect(bench.isWaiting(caller))
    }

    @Test func `who wants a long life waits on`() throws {
        var (bench, old, caller, flight) = try Self.expiring()
        let ensured = bench.ensure(.seconds(2000))
        bench.advance(.seconds(2))
        bench.feed(.patienceEnded(flight))
        #expect(bench.token(of: caller) == old)
        #expect(bench.isWaiting(ensured))
    }

    @Test func `a stored token that comes late is served at once`() throws {
        var bench = try MachineBench()
        let caller = bench.request()
        let flight = try #require(bench.flight)
        let stored = bench.newToken()
        bench.advance(.seconds(2))
        bench.feed(.patienceEnded(flight))
        bench.feed(.restored(flight, TokenGrant(token: stored, life: .seconds(200))))
        #expect(bench.token(of: caller) == stored)
    }

    @Test func `the end of patience after the answer does nothing`() throws {
        var (bench, _, _, flight) = try Self.expiring()
        bench.land()
        let count = bench.events.count
        bench.advance(.seconds(2))
        bench.feed(.patienceEnded(flight))
        #expect(bench.events.count == count)
    }

    @Test(arguments: [2, 8, 60]) func `patience never outlasts the fetch's deadline`(seconds: Int) throws {
        var bench = try MachineBench(TokenCacheConfiguration(patience: .seconds(seconds)))
        let actions = bench.machine.handle(.requested(bench.subject, .init(1)), at: bench.now)
        guard case .startFetch(_, let patienceEnds, let deadline) = actions.first else {
            Issue.record("no fetch")
            return
        }
        #expect(patienceEnds == bench.now.advanced(by: .seconds(min(seconds, 8))))
        #expect(deadline == bench.now.advanced(by: .seconds(8)))
    }

    @Test func `the provider ends a fetch that hangs, however long its callers' patience`() async throws {
        let endpoint = try TokenEndpoint.fleetpass(#require(URL(string: "https://tokens.example.com")))
        let clock = ManualClock()
        let provider = try FleetTokenProvider(
            endpoint: endpoint, transport: StubTransport([.silence]),
            configuration: TokenCacheConfiguration(patience: .seconds(60)), clock: clock)
        let caller = Task { try await provider.token(for: .driver(try VehicleID(checking: "veh-3"))) }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(8))
        let error = await #expect(throws: TokenClientError.self) { try await caller.value }
        #expect(error?.code == .timedOut)
    }

    @Test func `the provider serves the valid token while the server hangs`() async throws {
        let endpoint = try TokenEndpoint.fleetpass(#require(URL(string: "https://tokens.example.com")))
        let subject = TokenSubject.driver(try VehicleID(checking: "veh-3"))
        let clock = ManualClock()
        let answer = TestTokens.response(
            with: TestTokens.token(for: subject), from: endpoint, for: subject, life: .seconds(3300),
            at: TestTokens.issuedAt + 300)
        let provider = try FleetTokenProvider(
            endpoint: endpoint, transport: StubTransport([.response(answer), .silence]), clock: clock)
        let old = try await provider.token(for: subject)
        clock.advance(by: .seconds(3001))
        let caller = Task { try await provider.token(for: subject) }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(2))
        #expect(try await caller.value == old)
        #expect(provider.load.fetches == 1 && provider.load.callers == 0)
    }
}
