// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FleetOperation
import FleetTokens
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPTypes
import Testing

@testable import FleetTokenServer

@Suite struct PendingRequestMiddlewareTests {
    /// A path without a limit has no place either, and its sender is there.
    @Test(arguments: [true, false])
    func `a request whose sender broke off before it was begun is not worked on`(isThere: Bool) async throws {
        let channel = NIOAsyncTestingChannel()
        if isThere { try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).get() }
        let context = CallerRequestContext(
            source: ApplicationRequestContextSource(channel: channel, logger: Logger(label: "test")))
        let request = Request(
            head: .init(method: .get, scheme: nil, authority: nil, path: "/"), body: .init(buffer: ByteBuffer()))
        let middleware = PendingRequestMiddleware(PendingRequests(.init(burst: 8, steady: 4)))
        let answer = try? await middleware.handle(request, context: context) { _, _ in Response(status: .ok) }
        #expect((answer?.status == .ok) == isThere)
        _ = try? await channel.finish()
    }

    @Test(arguments: [true, false])
    func `a request gives its place back when it was worked on, whatever came of it`(succeeds: Bool) async throws {
        struct Broken: Error {}
        let (pending, channel) = (PendingRequests(.init(burst: 1, steady: 1)), NIOAsyncTestingChannel())
        let head = HTTPRequest(method: .get, scheme: "http", authority: "tokens.example", path: "/token/driver/v")
        try await channel.testingEventLoop.executeInContext {
            let rule = PendingRequestLimit.Rule.tokens(
                .init(burst: 1, steady: 1), metrics: TokenServerMetrics(),
                origins: nil as AllowedOriginsMiddleware<CallerRequestContext>?)
            try channel.pipeline.syncOperations.addHandler(
                PendingRequestLimit(.init(pending: pending, applies: rule.applies, refuse: rule.refuse)))
        }
        for part in [HTTPRequestPart.head(head), .end(nil)] { try await channel.writeInbound(part) }
        let context = CallerRequestContext(
            source: ApplicationRequestContextSource(channel: channel, logger: Logger(label: "test")))
        let request = Request(head: head, body: .init(buffer: ByteBuffer()))
        let answer = try? await PendingRequestMiddleware(pending).handle(request, context: context) { _, _ in
            #expect(pending.count == 1)
            guard succeeds else { throw Broken() }
            return Response(status: .ok)
        }
        #expect((answer != nil) == succeeds)
        #expect(pending.count == 0)
        _ = try? await channel.finish()
    }
}

extension PendingRequests {
    /// Begins with a request of somebody else where there is a place; who began ends.
    @discardableResult
    fileprivate func begin(at time: NIODeadline = .uptimeNanoseconds(0)) -> Bool {
        let channel = EmbeddedChannel()
        return self.letIn(from: channel, at: time) && self.takeOver(from: channel)
    }
}

/// How many requests are worked on at once.
@Suite struct PendingRequestsTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
    private let pending = PendingRequests(.init(burst: 8, steady: 4))

    private func fill(at time: NIODeadline) -> Int {
        var taken = 0
        while self.pending.begin(at: time) { taken += 1 }
        return taken
    }

    @Test func `a burst is taken in, and who is more is turned away`() {
        #expect(self.fill(at: Self.start) == 8)
        #expect(self.pending.count == 8)
    }

    @Test func `a queue does not stand while others are turned away`() {
        #expect(self.fill(at: Self.start) == 8)
        for left in [7, 6, 5, 4] {
            self.pending.end()
            #expect(!self.pending.hasPlace(at: Self.start + .milliseconds(99)), "\(left) left")
        }
        // All that are worked on may be done at the same moment.
        for round in 2...50 {
            while self.pending.count > 0 { self.pending.end() }
            #expect(self.fill(at: Self.start + .milliseconds(99) * round) == 4)
        }
    }

    @Test func `when nobody has been turned away for a while, a burst is taken in again`() {
        #expect(self.fill(at: Self.start) == 8)
        while self.pending.count > 0 { self.pending.end() }
        #expect(self.fill(at: Self.start + .milliseconds(99)) == 4)
        while self.pending.count > 0 { self.pending.end() }
        #expect(self.fill(at: Self.start + .milliseconds(199)) == 8)
    }

    @Test func `no more are let in than there are places, however many event loops ask at once`() {
        for _ in 0..<100 {
            let (pending, letIn) = (PendingRequests(.init(burst: 4, steady: 4)), Locked(0))
            DispatchQueue.concurrentPerform(iterations: 16) { _ in
                if pending.letIn(from: EmbeddedChannel(), at: Self.start) { letIn.withLock { $0 += 1 } }
            }
            #expect(letIn.withLock { $0 } == 4)
            #expect(pending.count == 4)
        }
    }

    @Test func `no more are steady than may ever be`() {
        let pending = PendingRequests(.init(burst: 1, steady: 16))
        pending.begin()
        #expect(!pending.hasPlace(at: Self.start))
        pending.end()
        #expect(pending.hasPlace(at: Self.start + .seconds(1)))
    }
}

/// What one connection does where there is no place.
@Suite struct PendingRequestLimitTests {
    private let pending = PendingRequests(.init(burst: 1, steady: 1))
    private let metrics = TokenServerMetrics()
    private let channel: EmbeddedChannel

    init() throws {
        let counted = self.pending
        let rule = PendingRequestLimit.Rule.tokens(
            .init(burst: 1, steady: 1), metrics: self.metrics,
            origins: try AllowedOriginsMiddleware<CallerRequestContext>(origins: ["https://app.example"]))
        self.channel = EmbeddedChannel(
            handler: PendingRequestLimit(.init(pending: counted, applies: rule.applies, refuse: rule.refuse)))
    }

    private func send(_ path: String, method: HTTPRequest.Method = .get, _ fields: HTTPFields = [:]) throws {
        let request = HTTPRequest(
            method: method, scheme: "http", authority: "tokens.example", path: path, headerFields: fields)
        try self.channel.writeInbound(HTTPRequestPart.head(request))
        try self.channel.writeInbound(HTTPRequestPart.end(nil))
    }

    private func answer() throws {
        try self.channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
        try self.channel.writeOutbound(HTTPResponsePart.end(nil))
    }

    /// The heads that came through.
    private func arrived() throws -> [String] {
        var paths: [String] = []
        while let part = try self.channel.readInbound(as: HTTPRequestPart.self) {
            if case .head(let head) = part { paths.append(head.path ?? "") }
        }
        return paths
    }

    /// The answers that went out: their heads and bodies.
    private func answers() throws -> [(head: HTTPResponse, body: String)] {
        var answers: [(head: HTTPResponse, body: String)] = []
        while let part = try self.channel.readOutbound(as: HTTPResponsePart.self) {
            switch part {
            case .head(let head): answers.append((head, ""))
            case .body(let body): answers[answers.count - 1].body += String(buffer: body)
            case .end: break
            }
        }
        return answers
    }

    @Test func `who finds no place is told at once when to come again`() throws {
        self.pending.begin()
        for _ in 1...3 { try self.send("/token/driver/vehicle-1") }
        #expect(try self.arrived().isEmpty)
        let answers = try self.answers()
        #expect(answers.count == 3)
        for (head, body) in answers {
            #expect(head.status == .serviceUnavailable)
            #expect(head.headerFields[.retryAfter] == "1")
            #expect(head.headerFields[.contentLength] == "\(body.utf8.count)")
            let error = try JSONValue(parsing: Array(body.utf8)).object?["error"]?.object
            #expect(error?["status"] == .string("UNAVAILABLE"))
        }
        #expect(self.metrics.text.contains(#"fleetpass_token_refusals_total{reason="limit_pending"} 3"#))
        #expect(self.metrics.text.contains(#"fleetpass_token_requests_total{role="unread",outcome="limited"} 3"#))

        self.pending.end()
        try self.send("/token/driver/vehicle-1")
        #expect(try self.arrived() == ["/token/driver/vehicle-1"])
    }

    @Test func `the typed API refuses with a problem of its own`() throws {
        self.pending.begin()
        try self.send("/v1/tokens", method: .post)
        let (head, body) = try #require(try self.answers().first)
        #expect(head.headerFields[.contentType] == "application/problem+json")
        #expect(head.headerFields[.retryAfter] == "1")
        #expect(head.headerFields[.contentLength] == "\(body.utf8.count)")
        #expect(try JSONValue(parsing: Array(body.utf8)).object?["code"] == .string("unavailable"))
    }

    @Test func `the answer to HEAD has no body`() throws {
        self.pending.begin()
        try self.send("/token/driver/vehicle-1", method: .head)
        let (head, body) = try #require(try self.answers().first)
        #expect(head.status == .serviceUnavailable)
        #expect(body.isEmpty)
    }

    @Test(arguments: ["/token/driver/v", "//token/driver/v", "/token", "/token?task=t", "/v1/tokens", "/v1//tokens"])
    func `requests for tokens are limited, however they are written`(path: String) throws {
        self.pending.begin()
        try self.send(path)
        #expect(try self.arrived().isEmpty)
    }

    @Test(arguments: ["/healthz", "/readyz", "/metrics", "/.well-known/jwks.json", "/admin/api/revocations", "/", "*"])
    func `supervisors and administrators always pass`(path: String) throws {
        self.pending.begin()
        try self.send(path)
        try self.send("/token/driver/v", method: .options)
        #expect(try self.arrived().count == 2)
        try self.answer()
        try self.answer()
        #expect(self.pending.count == 1)
    }

    @Test func `a place is given back with the answer, or with the connection`() throws {
        for _ in 1...3 {
            try self.send("/token/driver/vehicle-1")
            #expect(self.pending.count == 1)
            try self.answer()
            #expect(self.pending.count == 0)
        }
        try self.send("/token/driver/vehicle-1")
        #expect(self.pending.count == 1)
        _ = try self.channel.finish()
        #expect(self.pending.count == 0)
    }

    private func begin(_ path: String = "/v1/tokens") throws {
        let request = HTTPRequest(method: .post, scheme: "http", authority: "tokens.example", path: path)
        try self.channel.writeInbound(HTTPRequestPart.head(request))
    }

    @Test func `a slow sender keeps no place, and is worked on once its request is whole`() throws {
        try self.begin()
        for text in ["{", "}"] { try self.channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: text))) }
        #expect(self.pending.count == 0)
        #expect(try self.channel.readInbound(as: HTTPRequestPart.self) == nil)
        try self.channel.writeInbound(HTTPRequestPart.end(nil))
        #expect(self.pending.count == 1)
        guard case .head(let head) = try self.channel.readInbound(as: HTTPRequestPart.self) else {
            Issue.record("no head came through")
            return
        }
        #expect(head.path == "/v1/tokens")
        #expect(try self.channel.readInbound(as: HTTPRequestPart.self) == .body(ByteBuffer(string: "{}")))
        #expect(try self.channel.readInbound(as: HTTPRequestPart.self) == .end(nil))
        try self.answer()
        #expect(self.pending.count == 0)
    }

    @Test func `who finds no place any more at the end of the request is turned away then`() throws {
        try self.begin()
        try self.channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: "{}")))
        #expect(try self.answers().isEmpty)
        self.pending.begin()
        try self.channel.writeInbound(HTTPRequestPart.end(nil))
        #expect(try self.channel.readInbound(as: HTTPRequestPart.self) == nil)
        #expect(self.pending.count == 1)
        let (head, _) = try #require(try self.answers().first)
        #expect(head.status == .serviceUnavailable)
        #expect(head.headerFields[.retryAfter] == "1")
        #expect(head.headerFields[.connection] == nil)

        self.pending.end()
        try self.send("/v1/tokens", method: .post)
        #expect(try self.arrived() == ["/v1/tokens"])
    }

    @Test func `who finds no place any more behind other requests waits for their answers`() throws {
        try self.send("/healthz")
        try self.begin()
        self.pending.begin()
        try self.channel.writeInbound(HTTPRequestPart.end(nil))
        #expect(try self.arrived() == ["/healthz"])
        #expect(try self.answers().isEmpty)
        try self.answer()
        #expect(try self.answers().map(\.head.status) == [.ok, .serviceUnavailable])
        #expect(self.pending.count == 1)
    }

    @Test func `a request that waits for the answers to others keeps no place from anybody`() throws {
        let paths = ["/healthz", "/readyz", "/token/driver/vehicle-1", "/token/driver/vehicle-2"]
        for path in paths { try self.send(path) }
        #expect(try self.arrived() == ["/healthz", "/readyz"])
        #expect(self.pending.count == 0)
        try self.answer()
        #expect(try self.arrived().isEmpty)
        try self.answer()
        #expect(try self.arrived() == ["/token/driver/vehicle-1"])
        #expect(self.pending.count == 1)
        try self.answer()
        #expect(try self.arrived() == ["/token/driver/vehicle-2"])
        #expect(self.pending.count == 1)
        try self.answer()
        #expect(self.pending.count == 0)
    }

    /// Counts how often it is asked to read.
    private final class Reads: ChannelOutboundHandler {
        typealias OutboundIn = HTTPResponsePart

        private(set) var count = 0

        func read(context: ChannelHandlerContext) {
            self.count += 1
            context.read()
        }
    }

    @Test func `nothing is read behind a request that waits`() throws {
        let reads = Reads()
        try self.channel.pipeline.syncOperations.addHandler(reads, position: .first)
        try self.send("/healthz")
        try self.send("/token/driver/vehicle-1")
        let before = reads.count
        self.channel.read()
        self.channel.read()
        #expect(reads.count == before)
        try self.answer()
        #expect(reads.count == before + 1)
        self.channel.read()
        #expect(reads.count == before + 2)
    }

    @Test func `the end of what a client sends is told behind its last request`() throws {
        let order = Order()
        try self.channel.pipeline.syncOperations.addHandler(order)
        for path in ["/healthz", "/token/driver/vehicle-1"] { try self.send(path) }
        self.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(!order.told.contains("input closed"))
        order.forget()
        try self.answer()
        #expect(order.told == ["head", "end", "input closed", "no more"])
    }

    @Test func `what cannot be read is told behind the requests before it`() throws {
        let order = Order()
        try self.channel.pipeline.syncOperations.addHandler(order)
        for path in ["/healthz", "/token/driver/vehicle-1"] { try self.send(path) }
        self.channel.pipeline.fireErrorCaught(HTTPParserError.invalidHeaderToken)
        #expect(!order.told.contains("error"))
        order.forget()
        try self.answer()
        #expect(order.told == ["head", "end", "error", "no more"])
        self.channel.pipeline.fireErrorCaught(HTTPParserError.invalidHeaderToken)
        #expect(order.told.last == "error")
    }

    @Test func `a place that was taken over is kept until the work is over, though the sender has gone`() throws {
        try self.send("/token/driver/vehicle-1")
        #expect(self.pending.takeOver(from: self.channel))
        #expect(!self.pending.takeOver(from: self.channel))
        _ = try self.channel.finish()
        #expect(self.pending.count == 1)
        self.pending.end()
        #expect(self.pending.count == 0)
    }

    @Test(arguments: [true, false])
    func `a body that is longer than any that is taken is not held`(hasPlace: Bool) throws {
        try self.begin()
        if !hasPlace { self.pending.begin() }
        for _ in 0...16 {
            try self.channel.writeInbound(HTTPRequestPart.body(ByteBuffer(repeating: 0x20, count: 1024)))
        }
        #expect(try self.arrived() == (hasPlace ? ["/v1/tokens"] : []))
        #expect(self.pending.count == 1)
        // Its refusal comes before its end, which leaves nothing to count.
        if hasPlace { try self.answer() } else { self.pending.end() }
        try self.channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: " ")))
        try self.channel.writeInbound(HTTPRequestPart.end(nil))
        #expect(try self.answers().map(\.head.status) == [hasPlace ? .ok : .serviceUnavailable])
        #expect(self.pending.count == 0)
    }

    /// Notes in which order parts and the connection's end are told.
    private final class Order: ChannelInboundHandler {
        typealias InboundIn = HTTPRequestPart

        private(set) var told: [String] = []

        func forget() { self.told = [] }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch self.unwrapInboundIn(data) {
            case .head: self.told.append("head")
            case .body: self.told.append("body")
            case .end: self.told.append("end")
            }
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event is ChannelShouldQuiesceEvent { self.told.append("to end") }
            if case ChannelEvent.inputClosed = event { self.told.append("input closed") }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { self.told.append("error") }

        func channelReadComplete(context: ChannelHandlerContext) { self.told.append("no more") }
    }

    @Test func `a connection that is to end while a request is read hears of it with the request`() throws {
        let order = Order()
        try self.channel.pipeline.syncOperations.addHandler(order)
        try self.begin()
        self.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        #expect(!order.told.contains("to end"))
        order.forget()
        try self.channel.writeInbound(HTTPRequestPart.end(nil))
        #expect(order.told == ["head", "to end", "end", "no more"])
        order.forget()
        self.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        #expect(order.told == ["to end"])
    }

    @Test func `a connection that is to end while requests wait hears of it with the last of them`() throws {
        let order = Order()
        try self.channel.pipeline.syncOperations.addHandler(order)
        for _ in 0..<3 { try self.send("/v1/tokens", method: .post) }
        self.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        #expect(!order.told.contains("to end"))
        order.forget()
        try self.answer()
        #expect(order.told == ["head", "end", "no more"])
        order.forget()
        try self.answer()
        #expect(order.told == ["head", "end", "to end", "no more"])
    }

    @Test func `a connection that is to end while the last request is still read hears of it with that`() throws {
        let order = Order()
        try self.channel.pipeline.syncOperations.addHandler(order)
        try self.send("/v1/tokens", method: .post)
        try self.begin()
        try self.channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: "{")))
        self.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        order.forget()
        try self.answer()
        #expect(order.told == ["no more"])
        order.forget()
        try self.channel.writeInbound(HTTPRequestPart.end(nil))
        #expect(order.told == ["head", "body", "to end", "end", "no more"])
    }

    @Test func `requests that waited are worked on by who begins once there is no more to read`() throws {
        let order = Order()
        try self.channel.pipeline.syncOperations.addHandler(order)
        for _ in 0..<2 { try self.send("/token/driver/vehicle-1") }
        order.forget()
        try self.answer()
        #expect(order.told == ["head", "end", "no more"])
    }

    @Test func `the body of a request that is turned away goes nowhere`() throws {
        self.pending.begin()
        let request = HTTPRequest(method: .post, scheme: "http", authority: "tokens.example", path: "/v1/tokens")
        try self.channel.writeInbound(HTTPRequestPart.head(request))
        self.pending.end()
        try self.channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: "{}")))
        try self.channel.writeInbound(HTTPRequestPart.end(nil))
        #expect(try self.channel.readInbound(as: HTTPRequestPart.self) == nil)
        #expect(try self.answers().count == 1)
        #expect(self.pending.count == 0)
    }

    @Test func `who does not wait for answers is turned away in turn`() throws {
        self.pending.begin()
        let paths = ["/healthz", "/token/driver/vehicle-2", "/token/driver/vehicle-3", "/readyz"]
        for path in paths { try self.send(path) }
        #expect(try self.arrived() == ["/healthz"])
        #expect(try self.answers().isEmpty)
        try self.answer()
        #expect(try self.answers().map(\.head.status) == [.ok, .serviceUnavailable, .serviceUnavailable])
        #expect(try self.arrived() == ["/readyz"])
        #expect(self.pending.count == 1)
        #expect(self.metrics.text.contains(#"fleetpass_token_refusals_total{reason="limit_pending"} 2"#))
    }

    @Test func `who does not wait for answers gets them in order while there are places`() throws {
        let paths = ["/healthz", "/token/driver/vehicle-1", "/readyz"]
        for path in paths { try self.send(path) }
        for path in [["/healthz"], ["/token/driver/vehicle-1", "/readyz"], []] {
            #expect(try self.arrived() == path)
            try self.answer()
        }
        #expect(try self.answers().map(\.head.status) == [.ok, .ok, .ok])
        #expect(self.pending.count == 0)
    }

    @Test func `web pages of allowed origins can read it`() throws {
        self.pending.begin()
        for origin in ["https://app.example", "https://other.example"] {
            try self.send("/token/consumer/trip-1", [.origin: origin])
        }
        let heads = try self.answers().map(\.head.headerFields)
        #expect(heads.map { $0[.accessControlAllowOrigin] } == ["https://app.example", nil])
        #expect(heads.map { $0[.accessControlExposeHeaders] } == ["age, date, retry-after", nil])
        #expect(heads.allSatisfy { $0[.vary] == "Origin" })
    }

    @Test func `who asked for the connection's end gets it`() throws {
        self.pending.begin()
        try self.channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try self.send("/token/driver/vehicle-1")
        #expect(self.channel.isActive)
        try self.send("/token/driver/vehicle-1", [.connection: "close"])
        #expect(!self.channel.isActive)
        #expect(try self.answers().count == 2)
    }
}
