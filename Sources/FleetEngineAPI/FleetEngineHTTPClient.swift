// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import AsyncHTTPClient
import FleetSigning
public import FleetTokens
import NIOCore
import NIOHTTP1
import NIOSSL

/// Calls Fleet Engine over REST, with a fresh token on each call.
///
/// The token is asked for before each call and checked against the resource that the call addresses. When the engine
/// does not accept it (401), the source hears of it and the call is sent once more, if there is another token by then.
/// Calls go to one engine, over `https` or to this machine; redirects are not followed, so a token goes nowhere else.
///
/// ```swift
/// let engine = try FleetEngineHTTPClient(tokens: tokens)
/// let vehicle = try ResourceName(checking: "providers/acme/vehicles/veh-3")
/// let response = try await engine.execute(.getVehicle, on: vehicle)
/// let body = try await response.body.collect(upTo: 1 << 20)
/// ```
public final class FleetEngineHTTPClient: Sendable {
    private let root: String
    private let tokens: any FleetTokenSource
    private let client: HTTPClient
    private let time: TimeSource

    /// Makes a client with connections of its own, which close when it is no longer used.
    ///
    /// - Parameters:
    ///   - engine: Scheme, host and, where needed, a port and a path: `https`, or `http` on this machine.
    ///   - tokens: Where tokens come from.
    ///   - configuration: How connections are made; redirects are off whatever it says. Where it has no
    ///     `timeout.read`, an engine that sends nothing for 30 s is given up; without a `tlsConfiguration`, TLS is of
    ///     version 1.2 at least.
    /// - Throws: ``FleetEngineCallError`` with ``FleetEngineCallError/Code/insecureEngine``.
    public convenience init(
        engine: String = "https://fleetengine.googleapis.com", tokens: some FleetTokenSource,
        configuration: HTTPClient.Configuration = HTTPClient.Configuration()
    ) throws(FleetEngineCallError) {
        try self.init(engine: engine, tokens: tokens, configuration: configuration, clock: ContinuousClock())
    }

    /// Makes a client whose calls' time is measured with a clock.
    package init(
        engine: String, tokens: some FleetTokenSource, configuration: HTTPClient.Configuration,
        clock: some Clock<Duration>
    ) throws(FleetEngineCallError) {
        guard UpstreamAddress.isAcceptable(engine), !engine.contains("?") else {
            throw FleetEngineCallError(
                code: .insecureEngine,
                message:
                    "Tokens are sent to https addresses, and to http ones of this machine; the engine's address is neither, "
                    + "or has a user, a query or a fragment.")
        }
        self.root = engine.hasSuffix("/") ? String(engine.dropLast()) : engine
        self.tokens = tokens
        self.time = TimeSource(clock: clock)
        self.client = HTTPClient(
            eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: Self.adjusted(configuration, for: engine))
    }

    /// The configuration that calls really go with.
    package static func adjusted(
        _ configuration: HTTPClient.Configuration, for engine: String
    ) -> HTTPClient.Configuration {
        var configuration = configuration
        configuration.redirectConfiguration = .disallow
        // What is meant for this machine does not go through another.
        if !engine.lowercased().hasPrefix("https:") { configuration.proxy = nil }
        if configuration.tlsConfiguration == nil {
            var tls = TLSConfiguration.makeClientConfiguration()
            // Earlier versions must not be used any more (RFC 8996).
            tls.minimumTLSVersion = .tlsv12
            configuration.tlsConfiguration = tls
        }
        // A call's own limit ends with the answer's head; without this one, a body may stop and never end.
        if configuration.timeout.read == nil { configuration.timeout.read = .seconds(30) }
        return configuration
    }

    deinit {
        // A client that is let go without this stops the process; the call keeps it alive until it is closed.
        self.client.shutdown { _ in }
    }

    /// Calls a method.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - resource: The resource that is addressed or, by methods that create one, made; the provider for lists,
    ///     searches and batches.
    ///   - query: Further query parameters, such as `updateMask`, not encoded.
    ///   - body: The message as JSON.
    ///   - timeout: How long it may take until the head of the engine's answer is there, tokens and a second attempt
    ///     included; a year at most. Who is still asked for a token then is cancelled. Neither before nor after that may
    ///     the engine be silent for longer than the configuration's `timeout.read`.
    /// - Returns: The engine's answer, whatever its status; a 401 where no other token was to be had.
    /// - Throws: ``FleetEngineCallError`` when nothing was sent; `HTTPClientError.deadlineExceeded` when the time is
    ///   over, be it for the lack of a token; other errors of the connection, which reading the body throws too;
    ///   `CancellationError`.
    public func execute(
        _ method: FleetMethod, on resource: ResourceName, query: [(name: String, value: String)] = [],
        body: [UInt8]? = nil, timeout: Duration = .seconds(30)
    ) async throws -> HTTPClientResponse {
        let call = try FleetEngineCall(method, on: resource, query: query)
        let end = self.time.uptime + timeout.waitable
        let token = try await self.token(for: call, until: end)
        let response = try await self.send(call, body, token, until: end)
        guard response.status == .unauthorized else { return self.kept(for: response) }
        self.tokens.discard(token, for: method, on: resource)
        let other = try? await self.token(for: call, until: end)
        try Task.checkCancellation()
        // Without another token, the engine's refusal says more than the lack of one.
        guard let other, other != token else { return self.kept(for: response) }
        return self.kept(for: try await self.send(call, body, other, until: end))
    }

    /// Keeps the client's connections open until the answer's body is read, or let go.
    private func kept(for response: HTTPClientResponse) -> HTTPClientResponse {
        var response = response
        response.body = .stream(KeptBody(body: response.body, client: self))
        return response
    }

    private struct KeptBody: AsyncSequence, Sendable {
        struct AsyncIterator: AsyncIteratorProtocol {
            var base: HTTPClientResponse.Body.AsyncIterator
            let client: FleetEngineHTTPClient

            @concurrent mutating func next() async throws -> ByteBuffer? { try await self.base.next() }
        }

        let body: HTTPClientResponse.Body
        let client: FleetEngineHTTPClient

        func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(base: self.body.makeAsyncIterator(), client: self.client)
        }
    }

    private func token(for call: FleetEngineCall, until end: Duration) async throws -> FleetToken {
        let left = end - self.time.uptime
        let token: FleetToken = try await self.time.wait(atMost: left, orThrow: HTTPClientError.deadlineExceeded) {
            do {
                return try await self.tokens.token(for: call.method, on: call.resource)
            } catch let error as CancellationError {
                throw error
            } catch {
                throw FleetEngineCallError(
                    code: .noToken,
                    message: "There is no token for \(call.method.name), so the call was not sent; the cause says why.",
                    cause: error)
            }
        }
        try call.check(token)
        return token
    }

    private func send(
        _ call: FleetEngineCall, _ body: [UInt8]?, _ token: FleetToken, until end: Duration
    ) async throws -> HTTPClientResponse {
        var request = HTTPClientRequest(url: self.root + call.target)
        request.method = HTTPMethod(rawValue: call.verb.rawValue)
        request.headers = ["authorization": token.authorizationHeader, "accept": "application/json"]
        if let body {
            request.headers.add(name: "content-type", value: "application/json")
            request.body = .bytes(body)
        }
        let left = max(.zero, end - self.time.uptime)
        return try await self.client.execute(request, deadline: NIODeadline.now() + TimeAmount(left))
    }
}
