// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokens
import Foundation
import Testing

@testable import FleetTokenClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(10))) struct URLSessionTransportTests {
    private let server: LoopbackServer
    private let transport = URLSessionTransport(maximumBodyBytes: 64 * 1024)

    init() throws {
        self.server = try LoopbackServer { Self.answer(to: $0.target) }
    }

    private static let refusal = HTTPTransportResponse(
        status: 503, headers: [("Retry-After", "7")], body: Data(repeating: 0x78, count: 100))

    private static func answer(to target: String) -> LoopbackServer.Answer {
        func respond(
            _ status: Int, _ header: (name: String, value: String)? = nil, body: String = ""
        ) -> LoopbackServer.Answer {
            .response(
                HTTPTransportResponse(status: status, headers: header.map { [$0] } ?? [], body: Data(body.utf8)))
        }
        return switch target {
        case "/redirect": respond(302, ("Location", "/elsewhere"))
        case "/cookie": respond(200, ("Set-Cookie", "a=b; Path=/"), body: "ok")
        case "/cached": respond(200, ("Cache-Control", "public, max-age=3600"), body: "ok")
        case "/refused": respond(403, ("Retry-After", "7"), body: "no")
        case "/large": respond(200, body: String(repeating: "x", count: 300_000))
        case "/challenge": respond(401, ("WWW-Authenticate", #"Basic realm="x""#), body: "who?")
        case "/refused/large": respond(503, ("Retry-After", "7"), body: String(repeating: "x", count: 300_000))
        case "/refused/stalled": .stalled(Self.refusal)
        case "/refused/torn": .torn(Self.refusal)
        case "/silence": .silence
        case "/drip": .drip
        case "/torn": .torn(HTTPTransportResponse(status: 200, body: Data(repeating: 0x78, count: 100)))
        default: respond(200, ("X-Test", "yes"), body: "hello")
        }
    }

    private func send(
        _ path: String, headers: [(name: String, value: String)] = [], timeout: Duration = .seconds(20)
    ) async throws -> HTTPTransportResponse {
        let url = try #require(URL(string: self.server.url.absoluteString + path))
        return try await self.transport.send(HTTPTransportRequest(url: url, headers: headers, timeout: timeout))
    }

    @Test func `it sends header fields and returns status, fields and body`() async throws {
        let response = try await self.send("/ok?a=%20b", headers: [("Authorization", "Bearer session")])
        #expect(response.status == 200 && response.header("x-test") == "yes" && response.body == Data("hello".utf8))
        let request = try #require(self.server.requests.first)
        #expect(request.method == "GET" && request.target == "/ok?a=%20b")
        #expect(request.header("Authorization") == "Bearer session")
    }

    @Test func `it sends a body with its verb`() async throws {
        let url = try #require(URL(string: self.server.url.absoluteString + "/post"))
        let response = try await self.transport.send(
            HTTPTransportRequest(method: "POST", url: url, body: Data("payload".utf8)))
        #expect(response.status == 200)
        let request = try #require(self.server.requests.first)
        #expect(request.method == "POST" && request.target == "/post" && request.body == Data("payload".utf8))
    }

    @Test func `a refusal is an answer, not an error`() async throws {
        let response = try await self.send("/refused")
        #expect(response.status == 403 && response.header("Retry-After") == "7" && response.body == Data("no".utf8))
    }

    @Test func `a challenge is an answer at once`() async throws {
        let response = try await self.send(
            "/challenge", headers: [("Authorization", "Bearer session")], timeout: .seconds(500))
        #expect(response.status == 401 && response.header("WWW-Authenticate") == #"Basic realm="x""#)
        #expect(response.body == Data("who?".utf8) && self.server.requests.count == 1)
    }

    @Test(arguments: ["large", "stalled", "torn"])
    func `a refusal whose body does not come in full is returned without it`(body: String) async throws {
        // Long enough for the head on a busy machine.
        let response = try await self.send("/refused/\(body)", timeout: .seconds(body == "stalled" ? 3 : 20))
        #expect(response.status == 503 && response.header("Retry-After") == "7" && response.body.isEmpty)
    }

    @Test func `a redirect is returned and not followed`() async throws {
        let response = try await self.send("/redirect", headers: [("Authorization", "Bearer session")])
        #expect(response.status == 302)
        #expect(self.server.requests.count == 1)
    }

    @Test func `cookies are not kept`() async throws {
        _ = try await self.send("/cookie")
        _ = try await self.send("/cookie")
        #expect(self.server.requests.count == 2)
        #expect(self.server.requests.allSatisfy { $0.header("Cookie") == nil })
    }

    @Test func `answers are not cached`() async throws {
        _ = try await self.send("/cached")
        _ = try await self.send("/cached")
        #expect(self.server.requests.count == 2)
    }

    @Test(arguments: ["/silence", "/drip"]) func `the timeout covers the whole exchange`(path: String) async throws {
        let start = ContinuousClock.now
        let error = await #expect(throws: TokenClientError.self) {
            try await self.send(path, timeout: .milliseconds(300))
        }
        #expect(error?.code == .timedOut)
        #expect(ContinuousClock.now - start < .seconds(10))
    }

    @Test func `the longest duration there is means no timeout`() async throws {
        let response = try await self.send("/ok", timeout: .seconds(Int64.max))
        #expect(response.body == Data("hello".utf8))
    }

    @Test func `a body above the limit ends the exchange`() async throws {
        let error = await #expect(throws: TokenClientError.self) { try await self.send("/large") }
        #expect(error?.code == .invalidAnswer)
    }

    @Test func `a torn answer and a closed port are unreachable`() async throws {
        let torn = await #expect(throws: TokenClientError.self) { try await self.send("/torn") }
        #expect(torn?.code == .unreachable)
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let closed = await #expect(throws: TokenClientError.self) {
            try await self.transport.send(HTTPTransportRequest(url: url))
        }
        #expect(closed?.code == .unreachable)
    }

    @Test func `a server that is not reached is told with its port, and without path and query`() async throws {
        let url = try #require(URL(string: "http://127.0.0.1:1/a-path?a=query"))
        let error = await #expect(throws: TokenClientError.self) {
            try await self.transport.send(HTTPTransportRequest(url: url))
        }
        #expect(error?.message == "127.0.0.1:1 could not be reached.")
    }

    @Test func `an IPv6 address that URLSession does not take is told with what to use`() async throws {
        let url = try #require(URL(string: "http://[::1]:1/"))
        let error = await #expect(throws: TokenClientError.self) {
            try await self.transport.send(HTTPTransportRequest(url: url))
        }
        #expect(error?.code == .unreachable)
        let message = try #require(error?.message)
        #expect(message.hasPrefix("[::1]:1 could not be reached."))
        #if canImport(FoundationNetworking)
            // Once this fails, the system's URLSession takes such addresses, and nobody needs the advice.
            #expect(message.contains("use a host name, such as localhost"))
        #endif
    }

    @Test func `as many requests to one host are under way as connections are allowed`() async throws {
        let url = try #require(URL(string: self.server.url.absoluteString + "/silence"))
        let transport = URLSessionTransport(connectionsPerHost: 20)
        let tasks = (0..<20).map { _ in
            Task { try await transport.send(HTTPTransportRequest(url: url, timeout: .seconds(50))) }
        }
        await self.server.waitForRequests(20)
        for task in tasks { task.cancel() }
        // One that had waited for another's end would have run out of time, and not have been cancelled.
        for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
    }

    @Test func `a cancelled caller leaves at once`() async throws {
        let url = try #require(URL(string: self.server.url.absoluteString + "/silence"))
        let transport = self.transport
        let task = Task { try await transport.send(HTTPTransportRequest(url: url, timeout: .seconds(50))) }
        await self.server.waitForRequests(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    // MARK: - Sessions

    private static func keepingServer() throws -> LoopbackServer {
        try LoopbackServer(keepingConnections: true) { _ in
            .response(HTTPTransportResponse(status: 200, body: Data("hello".utf8)))
        }
    }

    @Test func `a transport sends everything over one session, whose connection is kept`() async throws {
        let server = try Self.keepingServer()
        let transport = URLSessionTransport()
        for _ in 0..<5 { _ = try await transport.send(HTTPTransportRequest(url: server.url)) }
        #expect(server.requests.count == 5)
        #expect(server.connectionCount == 1)
        // Another session would show.
        _ = try await URLSessionTransport().send(HTTPTransportRequest(url: server.url))
        #expect(server.connectionCount == 2)
    }

    @Test func `a released transport ends its session, which would keep its delegate otherwise`() async throws {
        let server = try Self.keepingServer()
        var transport: URLSessionTransport? = URLSessionTransport()
        let session = try #require(transport?.session)
        _ = try await transport?.send(HTTPTransportRequest(url: server.url))
        #expect(await Self.hasDelegate(session))
        transport = nil
        // A session ends in steps of its own, and nobody else is told.
        for _ in 0..<2_000 where await Self.hasDelegate(session) { try await Task.sleep(for: .milliseconds(5)) }
        #expect(await !Self.hasDelegate(session))
    }

    /// Asks on the queue on which a session lets its delegate go.
    private static func hasDelegate(_ session: URLSession) async -> Bool {
        await withCheckedContinuation { answer in
            session.delegateQueue.addOperation { answer.resume(returning: session.delegate != nil) }
        }
    }

    @Test func `a provider fetches over one connection, which ends with it`() async throws {
        let answers = ChaosTokenServer()
        let server = try LoopbackServer(keepingConnections: true) { request in
            let url = URL(string: answers.url.absoluteString + request.target) ?? answers.url
            guard let response = try? await answers.send(HTTPTransportRequest(url: url)) else { return .hangUp }
            return .response(response)
        }
        var provider: FleetTokenProvider? = try FleetTokenProvider(endpoint: .fleetpass(server.url))
        for number in 1...5 { _ = try await provider?.token(for: .driver(VehicleID(checking: "veh-\(number)"))) }
        #expect(server.requests.count == 5)
        #expect(server.connectionCount == 1)
        provider = nil
        await server.waitForEndedConnections(1)
    }
}
