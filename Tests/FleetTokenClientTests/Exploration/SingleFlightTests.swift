// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

/// Has crowds of callers ask at once, in an order that the seed decides.
///
/// All thousand seeds take a release build: `swift test -c release --filter SingleFlightTests`.
@Suite(.timeLimit(.minutes(60))) struct SingleFlightTests {
    private static let callers = 10_000
    #if DEBUG
        private static let seedsPerBatch: UInt64 = 2
    #else
        private static let seedsPerBatch: UInt64 = 100
    #endif

    private static func subjects() throws -> [TokenSubject] {
        try (1...3).map { .driver(try VehicleID(checking: "veh-\($0)")) }
    }

    @Test(arguments: 0..<UInt64(10)) func `ten thousand callers in any order cause one fetch per vehicle`(
        batch: UInt64
    ) async throws {
        let subjects = try Self.subjects()
        for index in 0..<Self.seedsPerBatch {
            var crowd = Crowd(seed: batch * Self.seedsPerBatch + index, subjects: subjects)
            crowd.run(Self.callers)
            await Task.yield()
            #expect(crowd.fetches == [1, 1, 1], "seed \(crowd.seed)")
            #expect(crowd.failures == 0 && crowd.waiting == 0, "seed \(crowd.seed)")
            #expect(crowd.ended == Self.callers, "seed \(crowd.seed)")
        }
    }

    @Test(arguments: 0..<UInt64(3)) func `ten thousand tasks for three vehicles cause one fetch each`(
        seed: UInt64
    ) async throws {
        let subjects = try Self.subjects()
        let endpoint = try TokenEndpoint.fleetpass(#require(URL(string: "https://tokens.example.com")))
        let gate = AsyncStream.makeStream(of: Void.self)
        let transport = StubTransport { request, _ in
            for await _ in gate.stream {}
            guard let subject = subjects.first(where: { request.url == (try? endpoint.url(for: $0)) }) else {
                return .failure(TokenClientError(code: .refused, message: "An unknown vehicle."))
            }
            let now = TestTokens.issuedAt + 300
            return .response(
                TestTokens.response(
                    with: TestTokens.token(for: subject), from: endpoint, for: subject, life: .seconds(3300), at: now))
        }
        let provider = try FleetTokenProvider(endpoint: endpoint, transport: transport, clock: ManualClock())
        var random = SeededGenerator(seed: seed)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<Self.callers {
                let subject = subjects[number < 3 ? number : Int.random(in: 0..<3, using: &random)]
                let yields = Int.random(in: 0..<4, using: &random)
                group.addTask {
                    for _ in 0..<yields { await Task.yield() }
                    return try await provider.token(for: subject) == TestTokens.token(for: subject)
                }
            }
            await transport.waitForRequests(3)
            gate.continuation.finish()
            var right = 0
            for try await isRight in group where isRight { right += 1 }
            #expect(right == Self.callers)
        }
        #expect(Set(transport.requests.map(\.url)).count == 3)
        #expect(transport.requests.count == 3)
    }
}

/// Callers, some of whom lose patience, and a server that answers at a random moment.
private struct Crowd {
    let seed: UInt64
    private(set) var fetches: [Int]
    private(set) var ended = 0
    private(set) var failures = 0
    var waiting: Int { self.pending.count }
    private let subjects: [TokenSubject]
    private var random: SeededGenerator
    private var machine: TokenCacheMachine
    private var pending: Set<UInt64> = []
    private var flights: [TokenCacheMachine.FlightID] = []

    init(seed: UInt64, subjects: [TokenSubject]) {
        self.seed = seed
        self.subjects = subjects
        self.random = SeededGenerator(seed: seed)
        self.machine = TokenCacheMachine(configuration: TokenCacheConfiguration(), seed: seed)
        self.fetches = subjects.map { _ in 0 }
    }

    mutating func run(_ callers: Int) {
        let answersAt = Int.random(in: callers / 2..<callers, using: &self.random)
        for number in 1...UInt64(callers) {
            let subject = self.subjects[Int.random(in: self.subjects.indices, using: &self.random)]
            self.pending.insert(number)
            self.feed(.requested(subject, .init(number)))
            if self.random.chance(0.05) {
                // Perhaps of another subject, or answered already: then nothing may happen.
                let other = UInt64.random(in: 1...number, using: &self.random)
                self.feed(.cancelled(subject, .init(other)))
            }
            if number >= answersAt { self.answer() }
        }
        self.answer()
    }

    private mutating func answer() {
        while let flight = self.flights.popLast() {
            self.feed(.fetched(flight, TokenGrant(token: FleetToken("token"), life: .seconds(3300))))
        }
    }

    private mutating func feed(_ event: TokenCacheMachine.Event) {
        for action in self.machine.handle(event, at: MonotonicInstant()) {
            switch action {
            case .startFetch(let flight, _, _):
                self.flights.append(flight)
                for index in self.subjects.indices where self.subjects[index] == flight.subject {
                    self.fetches[index] += 1
                }
            case .resume(let callers, _):
                for caller in callers {
                    if self.pending.remove(caller.number) == nil { self.failures += 1 }
                    self.ended += 1
                }
            case .notify(.failed), .stopFetch: self.failures += 1
            case .notify, .save, .discard: break
            }
        }
    }
}
