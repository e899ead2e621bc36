// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation

/// Who wrote the fetcher.
enum FetcherKind: Sendable {
    case fleetpass
    /// ``SampleShapedFetcher``; without flaws it is right.
    case sample(Set<Flaw>)

    /// How long the absence of everything is believed: a right fetcher always answers, and may be slow on a busy machine.
    var patience: Duration {
        if case .sample(let flaws) = self, !flaws.isEmpty { .seconds(5) } else { .seconds(60) }
    }
}

/// A phone, its network and a token server around one kind of fetcher.
final class FetcherWorld: Sendable {
    private struct State: Sendable {
        var phoneOffset = 0.0
        var sessions = 0
        var sent: [HTTPTransportRequest] = []
        var lines: [String] = []
        var accidents: [String] = []
        var gates: [String: Gate] = [:]
        var interruption: (@Sendable () async -> Void)?
    }

    /// Lets nobody through until it is opened.
    private final class Gate: Sendable {
        private let waiting = Locked<[CheckedContinuation<Void, Never>]?>([])

        func open() {
            let continuations = self.waiting.withLock { waiting in
                defer { waiting = nil }
                return waiting ?? []
            }
            for continuation in continuations { continuation.resume() }
        }

        func pass() async {
            await withCheckedContinuation { continuation in
                let isOpen = self.waiting.withLock { waiting in
                    waiting?.append(continuation)
                    return waiting == nil
                }
                if isOpen { continuation.resume() }
            }
        }
    }

    private struct Network: HTTPTransport {
        let world: FetcherWorld

        func send(_ request: HTTPTransportRequest) async throws -> HTTPTransportResponse {
            let id = ChaosTokenServer.subject(at: request.url)?.id ?? ""
            let gate = self.world.state.withLock { state in
                state.sent.append(request)
                return state.gates[id]
            }
            let result: Result<HTTPTransportResponse, any Error>
            do {
                result = .success(try await self.world.server.send(request))
            } catch {
                result = .failure(error)
            }
            // The server has seen the request by now, so that a test knows that it is under way.
            await gate?.pass()
            return try result.get()
        }
    }

    let clock = ManualClock()
    let server: ChaosTokenServer
    private let kind: FetcherKind
    private let service: FetcherService
    private let contract: ServerContract
    private let state = Locked(State())

    init(_ kind: FetcherKind, _ script: ChaosScript, service: FetcherService, contract: ServerContract) {
        self.kind = kind
        self.service = service
        self.contract = contract
        self.server = ChaosTokenServer(script, clock: self.clock, startingAt: TestTokens.issuedAt)
    }

    /// How many sessions the fetcher opened.
    var sessions: Int { self.state.withLock(\.sessions) }
    /// What went over the network.
    var sent: [HTTPTransportRequest] { self.state.withLock(\.sent) }
    /// What stands in the app's log.
    var lines: [String] { self.state.withLock(\.lines) }
    /// What would have ended the app.
    var accidents: [String] { self.state.withLock(\.accidents) }

    /// Makes a fetcher of the kind.
    func makeFetcher(address: String = "https://tokens.example.com") throws -> any FetcherUnderTest {
        let surroundings = FetcherSurroundings(
            service: self.service, contract: self.contract, address: address, clock: self.clock,
            phoneDate: { [self] in Double(self.server.unixSeconds) + self.state.withLock(\.phoneOffset) },
            makeTransport: { [self] in
                self.state.withLock { $0.sessions += 1 }
                return Network(world: self)
            },
            credentials: [("Authorization", "Bearer session")],
            log: { [self] line in self.state.withLock { $0.lines.append(line) } },
            crash: { [self] accident in self.note(accident) },
            interruption: { [self] in await self.state.withLock(\.interruption)?() }
        )
        switch self.kind {
        case .fleetpass: return try FleetpassFetcher(surroundings)
        case .sample(let flaws): return try SampleShapedFetcher(surroundings, flaws: flaws)
        }
    }

    /// Calls the fetcher.
    func begin(_ fetcher: any FetcherUnderTest, _ context: FetcherContext?) -> PendingFetch {
        PendingFetch(fetcher, context, patience: self.kind.patience) { [self] in
            self.note("the completion was called twice")
        }
    }

    /// Calls the fetcher and waits for the end.
    func fetch(_ fetcher: any FetcherUnderTest, _ context: FetcherContext?) async -> FetchResult {
        await self.begin(fetcher, context).result
    }

    /// Sets the phone's date, counted from the right one.
    func setPhoneDate(off offset: Duration) {
        self.state.withLock { $0.phoneOffset = offset / .seconds(1) }
    }

    /// Keeps the answers for an id on their way until they are released.
    func hold(_ id: String) {
        self.state.withLock { $0.gates[id] = Gate() }
    }

    /// Lets the answers for an id arrive.
    func release(_ id: String) {
        self.state.withLock { $0.gates.removeValue(forKey: id) }?.open()
    }

    /// Does something whenever a fetcher leaves its cache unprotected.
    func interrupt(with interruption: (@Sendable () async -> Void)?) {
        self.state.withLock { $0.interruption = interruption }
    }

    /// Lets everything that is under way come to its end.
    func end() {
        self.interrupt(with: nil)
        for gate in self.state.withLock({ $0.gates.values.map { $0 } }) { gate.open() }
        self.clock.advance(by: .seconds(100_000))
    }

    /// Whom a token is for, as it says itself.
    static func claims(of token: String?) -> TokenClaims? {
        guard let token, let jws = try? CompactJWS(token) else { return nil }
        return try? TokenClaims(unverified: jws.payload)
    }

    private func note(_ accident: String) {
        self.state.withLock { $0.accidents.append(accident) }
    }
}
