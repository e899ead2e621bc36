// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokenClient
import FleetTokens
public import Foundation

/// A token server that misbehaves by script, for the tests of an app.
///
/// It answers in the keys of both of the vendor's sample servers and of Fleetpass's own, as that one does: `jwt` with
/// `expirationTimestamp`, or `token` with `expiration_timestamp_ms`, and `expires_in` besides. Its tokens are
/// ``TestTokens``. Use it as the transport of a provider, where its script runs on a clock that the test moves:
///
/// ```swift
/// @Test func `the map stays while the token server is down`() async throws {
///     let clock = ManualClock()
///     let server = ChaosTokenServer([.good, .status(503), .tornBody], clock: clock)
///     let tokens = try FleetTokenProvider(endpoint: .fleetpass(server.url), transport: server, clock: clock)
///     let token = try await tokens.token(for: .consumer(trip))
///     clock.advance(by: .seconds(3400))
///     #expect(try await tokens.token(for: .consumer(trip)) == token)
/// }
/// ```
///
/// or listen on this machine for code that brings its own network stack:
///
/// ```swift
/// let listening = try ChaosTokenServer([.hang, .html]).listen()
/// app.tokenServer = listening.url
/// ```
public final class ChaosTokenServer: HTTPTransport {
    private struct State: Sendable {
        var script: ChaosScript
        var scripts: [TokenSubject: ChaosScript]

        mutating func nextStep(for subject: TokenSubject) -> ChaosStep {
            self.scripts[subject]?.next() ?? self.script.next()
        }
    }

    /// An address for the transport; no request leaves the process.
    public var url: URL { URL(string: "https://tokens.example.com") ?? URL(fileURLWithPath: "/") }
    private let state: Locked<State>
    private let log = ArrivalLog<ChaosRequest>()
    private let time: MonotonicTime
    private let startedAt: Int64
    private let route: @Sendable (URL) -> TokenSubject?

    /// Makes a server.
    ///
    /// - Parameters:
    ///   - script: What happens to each request.
    ///   - scripts: What happens instead to the requests for some subjects.
    ///   - clock: What waits and the server's date are measured with.
    ///   - unixSeconds: The server's date when it is made; by default, today's.
    ///   - route: Whose token an address asks for; by default `…/KIND/ID?task=TASK`, as all three contracts have it.
    public init(
        _ script: ChaosScript = [], for scripts: [TokenSubject: ChaosScript] = [:],
        clock: some Clock<Duration> = ContinuousClock(), startingAt unixSeconds: Int64? = nil,
        route: @escaping @Sendable (URL) -> TokenSubject? = { ChaosTokenServer.subject(at: $0) }
    ) {
        self.state = Locked(State(script: script, scripts: scripts))
        self.time = MonotonicTime(clock)
        self.startedAt = unixSeconds ?? Int64(Date().timeIntervalSince1970)
        self.route = route
    }

    /// The server's date in Unix seconds.
    public var unixSeconds: Int64 { self.startedAt + self.time.now.sinceOrigin.components.seconds }

    /// The requests so far, in the order in which they came.
    public var requests: [ChaosRequest] { self.log.entries }

    /// Waits until so many requests have come.
    ///
    /// - Parameter count: How many, counted from the start.
    public func waitForRequests(_ count: Int) async {
        await self.log.waitForEntries(count)
    }

    /// Goes on with another script, as when an outage begins or ends.
    ///
    /// - Parameters:
    ///   - script: What happens from the next request on.
    ///   - subject: Whose requests; `nil` for all that have no script of their own.
    public func play(_ script: ChaosScript, for subject: TokenSubject? = nil) {
        self.state.withLock { state in
            if let subject { state.scripts[subject] = script } else { state.script = script }
        }
    }

    /// Answers a request without a network, and keeps to its timeout on the server's clock.
    ///
    /// - Parameter request: What would be sent.
    /// - Returns: What the script says.
    /// - Throws: ``TokenClientError`` with `unreachable` or `timedOut`, or `CancellationError`.
    public func send(_ request: HTTPTransportRequest) async throws -> HTTPTransportResponse {
        let deadline = self.time.now.advanced(by: request.timeout)
        let (wait, answer) = self.take(request)
        let comesAt = self.time.now.advanced(by: wait)
        switch answer {
        case _ where wait >= request.timeout, .silence, .drip, .stalled:
            try await self.time.sleep(until: deadline)
            throw TokenClientError(code: .timedOut, message: "The chaos server did not answer in time, as scripted.")
        case .response(let response):
            if wait > .zero { try await self.time.sleep(until: comesAt) }
            return response
        case .torn, .hangUp:
            throw TokenClientError(code: .unreachable, message: "The chaos server ended the connection, as scripted.")
        }
    }

    /// Listens on a free port of this machine, for code with a network stack of its own.
    ///
    /// - Returns: The listening server; it stops when it is released.
    /// - Throws: `POSIXError` when there is no port.
    public func listen() throws -> LoopbackServer {
        try LoopbackServer { request in
            let address = URL(string: self.url.absoluteString + request.target) ?? self.url
            let (wait, answer) = self.take(
                HTTPTransportRequest(method: request.method, url: address, headers: request.headers))
            guard wait > .zero else { return answer }
            let comesAt = self.time.now.advanced(by: wait)
            return (try? await self.time.sleep(until: comesAt)) == nil ? .hangUp : answer
        }
    }

    private func take(_ request: HTTPTransportRequest) -> (wait: Duration, answer: LoopbackServer.Answer) {
        let subject = self.route(request.url)
        let step = subject.map { subject in self.state.withLock { $0.nextStep(for: subject) } } ?? .status(404)
        let serial = self.log.append(
            ChaosRequest(
                method: request.method,
                path: request.url.path(percentEncoded: true),
                subject: subject,
                headerNames: Set(request.headers.map { $0.name.lowercased() }),
                step: step
            )
        )
        let wait: Duration = if case .slow(let wait) = step { wait } else { .zero }
        let answer = ChaosAnswer(subject: subject ?? .fleetReader, serial: serial, now: self.unixSeconds)
        return (wait, answer.answer(for: step))
    }
}
