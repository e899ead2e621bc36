// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import FleetOperation

/// What becomes of heads between the network and the handlers of HTTP.
@Suite struct HTTP1HeadsTests {
    private let channel = EmbeddedChannel()
    private let behind = Behind()

    /// How often those behind were told that the server ends.
    private final class Behind: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart

        private(set) var ends = 0

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event is ChannelShouldQuiesceEvent { self.ends += 1 }
        }
    }

    init() throws {
        try self.channel.pipeline.syncOperations.configureHTTPServerPipeline(
            withPipeliningAssistance: false, withErrorHandling: false)
        HTTP1Heads.add(to: self.channel.pipeline)
        try self.channel.pipeline.syncOperations.addHandler(self.behind)
        try self.channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    private func send(_ lines: String...) throws {
        let text = lines.map { "\($0)\r\n" }.joined() + "\r\n"
        try self.channel.writeInbound(ByteBuffer(string: text))
    }

    private func answer(_ status: HTTPResponseStatus = .ok, length: String? = nil, body: String...) throws {
        var head = HTTPResponseHead(version: .http1_1, status: status)
        if let length { head.headers.add(name: "Content-Length", value: length) }
        try self.channel.writeOutbound(HTTPServerResponsePart.head(head))
        for text in body {
            try self.channel.writeOutbound(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: text))))
        }
        try self.channel.writeOutbound(HTTPServerResponsePart.end(nil))
        self.channel.embeddedEventLoop.run()
    }

    private func end() { self.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }

    /// The bytes that went out.
    private func answered() throws -> String {
        var bytes = ByteBuffer()
        while case .byteBuffer(var part)? = try self.channel.readOutbound(as: IOData.self) { bytes.writeBuffer(&part) }
        return String(buffer: bytes)
    }

    /// The head that came through.
    private func arrived() throws -> HTTPRequestHead? {
        guard case .head(let head)? = try self.channel.readInbound(as: HTTPServerRequestPart.self) else { return nil }
        return head
    }

    @Test func `a connection that is being opened hears of the end at once`() throws {
        let (channel, behind) = (EmbeddedChannel(), Behind())
        try channel.pipeline.syncOperations.configureHTTPServerPipeline(
            withPipeliningAssistance: false, withErrorHandling: false)
        HTTP1Heads.add(to: channel.pipeline)
        try channel.pipeline.syncOperations.addHandler(behind)
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        #expect(behind.ends == 1)
    }

    @Test(arguments: [
        ("HTTP/1.1", []), ("HTTP/1.1", ["Host: 127.0.0.1", "host: x"]), ("HTTP/1.1", ["Host: x", "Host: x"]),
        ("HTTP/1.0", ["Host: 127.0.0.1", "Host: x", "Connection: keep-alive"]),
        ("HTTP/1.1", ["Host: a, b"]), ("HTTP/1.1", ["Host: a b<>/"]), ("HTTP/1.1", ["Host: 127.0.0.1:x"]),
        ("HTTP/1.1", ["Host: me@x"]), ("HTTP/1.1", ["Host: [::1]x"]), ("HTTP/1.1", ["Host: ::1"]),
        ("HTTP/1.0", ["Host: /", "Connection: keep-alive"]),
        ("HTTP/1.1", ["Host: [::1"]), ("HTTP/1.1", ["Host: [::1]]"]),
        ("HTTP/1.1", ["Host: [::1]]:80"]), ("HTTP/1.1", ["Host: []"]), ("HTTP/1.1", ["Host: [:80"]),
        ("HTTP/1.1", ["Host: a%zz"]), ("HTTP/1.1", ["Host: a%2"]), ("HTTP/1.1", ["Host: a \tb"]),
    ])
    func `a request with no host, several, or one that is none, is refused, and nothing behind it is read`(
        version: String, fields: [String]
    ) throws {
        let lines = (["GET / \(version)"] + fields).map { "\($0)\r\n" }.joined() + "\r\n"
        let next = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        #expect(throws: HTTPParserError.invalidHeaderToken) {
            try self.channel.writeInbound(ByteBuffer(string: lines + next))
        }
        try self.channel.writeInbound(ByteBuffer(string: next))
        #expect(try self.arrived() == nil)
    }

    @Test(arguments: [
        ["gzip, chunked"], ["nonsense, chunked"], ["gzip", "chunked"], ["chunked, chunked"], ["chunked"], ["Chunked"],
    ])
    func `a body in another coding than chunks is refused`(codings: [String]) throws {
        let fields = ["Host: x"] + codings.map { "Transfer-Encoding: \($0)" }
        let lines = (["POST / HTTP/1.1"] + fields).map { "\($0)\r\n" }.joined() + "\r\n1\r\na\r\n0\r\n\r\n"
        guard codings.map({ $0.lowercased() }) != ["chunked"] else {
            try self.channel.writeInbound(ByteBuffer(string: lines))
            #expect(try self.arrived() != nil)
            return
        }
        #expect(throws: HTTPParserError.self) { try self.channel.writeInbound(ByteBuffer(string: lines)) }
        #expect(try self.arrived() == nil)
    }

    @Test func `nothing is read behind many requests whose answers are not waited for`() throws {
        let most = HTTP1Heads.mostUnanswered
        let request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        try self.channel.writeInbound(ByteBuffer(string: request))
        _ = try self.arrived()
        _ = try self.channel.readInbound(as: HTTPServerRequestPart.self)
        try self.answer(length: "0")
        #expect(try !self.answered().contains("close"))
        try self.channel.writeInbound(ByteBuffer(string: String(repeating: request, count: most + 10)))
        var heads: [HTTPRequestHead] = []
        while let part = try self.channel.readInbound(as: HTTPServerRequestPart.self) {
            if case .head(let head) = part { heads.append(head) }
        }
        #expect(heads.count == most)
        let isLast = heads.map { $0.headers["Connection"] == ["close"] }
        #expect(isLast == Array(repeating: false, count: most - 1) + [true])
        for _ in 1..<most {
            try self.answer(length: "0")
            #expect(self.channel.isActive)
        }
        try self.answer(length: "0")
        #expect(try self.answered().contains("onnection: close"))
        #expect(!self.channel.isActive)
    }

    @Test func `a head that is too long is refused in words`() throws {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.configureHTTPServerPipeline()
        HTTP1Heads.add(to: channel.pipeline)
        let token = String(repeating: "a", count: 100_000)
        let head = "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n\r\n"
        #expect(throws: HTTPParserError.headerOverflow) { try channel.writeInbound(ByteBuffer(string: head)) }
        var answer = ""
        while let part = try channel.readOutbound(as: ByteBuffer.self) { answer += String(buffer: part) }
        #expect(answer.hasPrefix("HTTP/1.1 431 "))
        let body = try #require(answer.split(separator: "\r\n\r\n").last)
        #expect(answer.contains("Content-Length: \(body.utf8.count)\r\n"))
        let error = try JSONValue(parsing: Array(body.utf8)).object?["error"]?.object
        #expect(error?["code"] == .integer(431))
        let message = error?["message"]?.string ?? ""
        #expect(message.contains("limits.header_bytes"))
        #expect(!message.contains("\(CompactJWS.maximumBytes)"), "users' tokens may be longer")
    }

    @Test(arguments: ["http://ok:xx/healthz", "http://[::1/healthz", "http:///healthz", "http://a@/", "http://a b/"])
    func `a target whose host is none is refused, whatever the field names`(target: String) {
        #expect(throws: HTTPParserError.self) { try self.send("GET \(target) HTTP/1.1", "Host: ok") }
    }

    @Test(
        arguments: [
            ("/", "HTTP/1.1", "localhost:8080", ["localhost:8080"]), ("/", "HTTP/1.0", nil, []),
            ("/", "HTTP/1.0", "x", ["x"]),
            ("*", "HTTP/1.1", "x", ["x"]), ("/?to=http://other", "HTTP/1.1", "x", ["x"]), ("/", "HTTP/1.1", "", [""]),
            ("/", "HTTP/1.1", "127.0.0.1 ", ["127.0.0.1"]), ("/", "HTTP/1.1", "x\t \t", ["x"]),
            ("/", "HTTP/1.1", "a%2Fb", ["a%2Fb"]),
            ("/", "HTTP/1.1", "[::1]:80", ["[::1]:80"]), ("/", "HTTP/1.1", "a_b-c.example:", ["a_b-c.example:"]),
            ("http://other.example:81/a?b", "HTTP/1.1", "localhost", ["other.example:81"]),
            ("http://localhost:1@other.example?b", "HTTP/1.1", "localhost", ["other.example"]),
            ("HTTP://[::1]:80", "HTTP/1.0", nil, ["[::1]:80"]),
        ] as [(String, String, String?, [String])])
    func `the host is what the target says, and the field where that says none`(
        target: String, version: String, host: String?, known: [String]
    ) throws {
        let field = host.map { "Host: \($0)" } ?? "X: y"
        try self.send("GET \(target) \(version)", field)
        let head = try #require(try self.arrived())
        #expect(head.uri == target)
        #expect(head.headers["Host"] == known)
    }

    @Test(arguments: ["Connection: keep-alive", "Connection: close", "X: y"])
    func `an answer without a length is no chunks for HTTP 1.0, and ends with the connection`(field: String) throws {
        try self.send("GET /page/events HTTP/1.0", field)
        try self.answer(body: "retry: 2000\n\n", "event: beat\n\n")
        #expect(
            try self.answered() == "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nretry: 2000\n\nevent: beat\n\n")
        #expect(!self.channel.isActive)
    }

    @Test(arguments: ["HTTP/1.0", "HTTP/1.1"])
    func `an answer with a length, and one without a body, leave the connection open`(version: String) throws {
        for _ in 0..<2 {
            try self.send("GET / \(version)", "Host: x", "Connection: keep-alive")
            try self.answer(length: "2", body: "ok")
            #expect(try self.answered() == "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            try self.send("GET / \(version)", "Host: x", "Connection: keep-alive")
            try self.answer(.notModified)
            #expect(try self.answered() == "HTTP/1.1 304 Not Modified\r\n\r\n")
        }
        #expect(self.channel.isActive)
    }

    /// Counts who asks the network for more.
    private final class Reads: ChannelOutboundHandler {
        typealias OutboundIn = Never

        private(set) var count = 0

        func read(context: ChannelHandlerContext) {
            self.count += 1
            context.read()
        }
    }

    @Test(arguments: [
        ["GET / HTTP/1.1", "Host: x", "Connection: keep-alive, Upgrade, HTTP2-Settings", "Upgrade: h2c"],
        ["POST / HTTP/1.1", "Host: x", "connection: upgrade", "upgrade: websocket", "Content-Length: 2"],
        ["CONNECT x:443 HTTP/1.1", "Host: x"],
        ["POST / HTTP/1.0", "Host: x", "Connection: keep-alive", "Transfer-Encoding: chunked"],
    ])
    func `a request behind which nothing can be read is the connection's last`(lines: [String]) throws {
        let reads = Reads()
        try self.channel.pipeline.syncOperations.addHandler(reads, position: .first)
        try self.channel.writeInbound(ByteBuffer(string: lines.map { "\($0)\r\n" }.joined() + "\r\n"))
        let head = try #require(try self.arrived())
        #expect(head.headers["Connection"] == ["close"])
        if lines.contains("Content-Length: 2") { try self.channel.writeInbound(ByteBuffer(string: "{}")) }
        if lines.contains("Transfer-Encoding: chunked") {
            self.channel.read()
            #expect(reads.count > 0)
            try self.channel.writeInbound(ByteBuffer(string: "0\r\n\r\n"))
        }
        while try self.channel.readInbound(as: HTTPServerRequestPart.self) != nil {}
        let before = reads.count
        self.channel.read()
        #expect(reads.count == before)
        try? self.send("GET /next HTTP/1.1", "Host: x")
        #expect(try self.arrived() == nil)
        try self.answer(length: "2", body: "ok")
        #expect(try self.answered() == "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        #expect(!self.channel.isActive)
    }

    @Test func `a request that names a protocol and asks for none leaves the connection open`() throws {
        try self.send("GET / HTTP/1.1", "Host: x", "Upgrade: h2c")
        #expect(try self.arrived()?.headers["Connection"] == [])
        try self.answer(length: "2", body: "ok")
        try self.send("GET / HTTP/1.1", "Host: x", "Connection: upgrade")
        try self.answer(length: "2", body: "ok")
        #expect(self.channel.isActive)
        #expect(try !self.answered().contains("close"))
    }

    @Test func `each answer is written as its own request can read it`() throws {
        try self.send("GET /page/events HTTP/1.1", "Host: x")
        try self.send("GET /page/events HTTP/1.0")
        try self.answer(body: "one")
        let first = try self.answered()
        #expect(first.lowercased().contains("transfer-encoding: chunked") && first.hasSuffix("3\r\none\r\n0\r\n\r\n"))
        #expect(self.channel.isActive)
        try self.answer(body: "two")
        #expect(try self.answered().hasSuffix("\r\n\r\ntwo"))
        #expect(!self.channel.isActive)
    }

    @Test(arguments: ["HTTP/1.0", "HTTP/1.1"])
    func `an answer to a request under way tells that the server ends`(version: String) throws {
        try self.send("GET / \(version)", "Host: x", "Connection: keep-alive")
        self.end()
        #expect(self.behind.ends == 1)
        try self.answer(length: "2", body: "ok")
        #expect(try self.answered() == "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        #expect(!self.channel.isActive)
    }

    @Test func `of several answers the last one tells it, and leave to send a body does not`() throws {
        try self.send("GET / HTTP/1.1", "Host: x")
        try self.send("POST / HTTP/1.1", "Host: x", "Expect: 100-continue", "Content-Length: 2")
        self.end()
        try self.answer(length: "2", body: "ok")
        #expect(try self.answered() == "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        try self.channel.writeOutbound(
            HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .continue)))
        #expect(try self.answered() == "HTTP/1.1 100 Continue\r\n\r\n")
        #expect(self.channel.isActive)
        try self.answer(length: "2", body: "ok")
        #expect(try self.answered().contains("\r\nConnection: close\r\n"))
        #expect(!self.channel.isActive)
    }

    @Test func `what comes behind the answer that tells it is not worked on`() throws {
        try self.send("GET /page/events HTTP/1.1", "Host: x")
        self.end()
        try self.channel.writeOutbound(
            HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)))
        #expect(try self.arrived()?.uri == "/page/events")
        _ = try self.channel.readInbound(as: HTTPServerRequestPart.self)
        try self.send("POST / HTTP/1.1", "Host: x")
        #expect(try self.arrived() == nil)
        try self.channel.writeOutbound(HTTPServerResponsePart.end(nil))
        self.channel.embeddedEventLoop.run()
        #expect(!self.channel.isActive)
    }

    @Test func `those behind hear a second later of the end where a connection has no request`() {
        self.end()
        self.channel.embeddedEventLoop.advanceTime(by: .milliseconds(999))
        #expect(self.behind.ends == 0)
        self.channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
        #expect(self.behind.ends == 1)
    }

    @Test func `a request that was on its way when the server ended is answered`() throws {
        try self.send("GET / HTTP/1.1", "Host: x")
        try self.answer(length: "2", body: "ok")
        _ = try self.answered()
        self.end()
        try self.send("GET / HTTP/1.1", "Host: x")
        #expect(self.behind.ends == 1)
        self.channel.embeddedEventLoop.advanceTime(by: .seconds(5))
        #expect(self.behind.ends == 1)
        try self.answer(length: "2", body: "ok")
        #expect(try self.answered() == "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        #expect(!self.channel.isActive)
    }

    @Test func `a connection that ended meanwhile hears nothing`() throws {
        self.end()
        try self.channel.close().wait()
        self.channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(self.behind.ends == 0)
    }
}
