// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import Testing

@testable import FleetTokenServer

/// What becomes of requests that the server has no place for.
@Suite(.timeLimit(.minutes(1))) struct PendingLimitTests {
    /// A policy whose answers wait until the test lets them go.
    private final class Gate: TokenPolicy {
        private struct State {
            var waiting: [CheckedContinuation<Void, Never>] = []
            var isOpen = false
        }
        private let state = Locked(State())
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)

        func decide(_ type: TokenType, for caller: Caller, at time: Date) async throws -> PolicyDecision {
            await withCheckedContinuation { continuation in
                let passes = self.state.withLock { state in
                    if !state.isOpen { state.waiting.append(continuation) }
                    return state.isOpen
                }
                if passes { continuation.resume() }
                self.arrived.yield()
            }
            return .granted(rule: "gate")
        }

        func open() {
            let waiting = self.state.withLock { state in
                defer { state = State(waiting: [], isOpen: true) }
                return state.waiting
            }
            for continuation in waiting { continuation.resume() }
        }
    }

    private static func application(
        _ gate: Gate, log: TokenDeskTests.Log, metrics: TokenServerMetrics, limits: RequestLimits
    ) throws -> some ApplicationProtocol {
        let keys = try TokenRoutesTests.keys.get()
        let router = Router(context: CallerRequestContext.self)
        TokenRoutes(
            desk: TokenDesk(
                issuer: TokenIssuer(minters: try keys.mapValues { TokenMinter(signer: try LocalSigner($0)) }),
                authenticator: OpenAuthenticator(), policy: gate, limiter: RequestLimiter(limits), audit: log,
                metrics: metrics, logger: Logger(label: "test")),
            publishedKeys: { [] }
        ).add(to: router)
        return Application(router: router)
    }

    @Test func `who finds no place is told at once when to come again, and leaves no record`() async throws {
        let (gate, log, metrics) = (Gate(), TokenDeskTests.Log(), TokenServerMetrics())
        let application = try Self.application(gate, log: log, metrics: metrics, limits: RequestLimits(pending: 2))
        try await application.test(.router) { client in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 1...2 {
                    group.addTask {
                        try await client.execute(uri: "/token/driver/veh-\(number)", method: .get).status.code
                    }
                }
                var arrivals = gate.arrivals.makeAsyncIterator()
                for _ in 1...2 { _ = await arrivals.next() }
                for _ in 1...100 {
                    let refused = try await client.execute(uri: "/token/driver/veh-3", method: .get)
                    #expect(refused.status == .serviceUnavailable)
                    #expect(refused.headers[.retryAfter] == "1")
                    let error = try JSONValue(parsing: Array(refused.body.readableBytesView)).object?["error"]?.object
                    #expect(error?["status"] == .string("UNAVAILABLE"))
                }
                #expect(log.records.withLock { $0.isEmpty })
                gate.open()
                for try await status in group { #expect(status == 200) }
            }
            // The places are free again.
            for number in 1...5 {
                #expect(try await client.execute(uri: "/token/driver/veh-\(number)", method: .get).status == .ok)
            }
        }
        #expect(log.records.withLock { $0.count } == 7)
        #expect(metrics.text.contains(#"fleetpass_token_refusals_total{reason="limit_pending"} 100"#))
        #expect(metrics.text.contains(#"fleetpass_token_requests_total{role="driver",outcome="limited"} 100"#))
    }

    @Test func `a place is given back whatever comes of the request`() async throws {
        struct Failure: Error {}
        let limiter = RequestLimiter(RequestLimits(pending: 1))
        for _ in 1...3 {
            await #expect(throws: Failure.self) { try await limiter.withPlace { throw Failure() } }
            await #expect(throws: CancellationError.self) { try await limiter.withPlace { throw CancellationError() } }
        }
        let answer = try await limiter.withPlace { 1 }
        #expect(answer == 1)
    }

    @Test func `without a limit there is always a place`() async throws {
        let limiter = RequestLimiter(RequestLimits())
        let answer = try await limiter.withPlace { try await limiter.withPlace { 2 } }
        #expect(answer == 2)
    }
}
