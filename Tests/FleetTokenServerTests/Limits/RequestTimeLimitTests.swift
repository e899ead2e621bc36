// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@Suite struct RequestTimeLimitTests {
    private let channel = EmbeddedChannel(handler: RequestTimeLimit(.seconds(30)))
    private let head = HTTPRequestPart.head(
        HTTPRequest(method: .get, scheme: "http", authority: "tokens.example", path: "/"))

    init() throws {
        try self.channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    private func wait(_ seconds: Int64) { self.channel.embeddedEventLoop.advanceTime(by: .seconds(seconds)) }

    @Test func `who sends no first head in time is cut off`() throws {
        self.wait(29)
        #expect(self.channel.isActive)
        self.wait(1)
        #expect(!self.channel.isActive)
        #expect(try self.channel.readOutbound(as: HTTPResponsePart.self) == nil)
    }

    @Test func `a request that does not end in time is answered with 408, counted from its head`() throws {
        self.wait(20)
        try self.channel.writeInbound(self.head)
        self.wait(29)
        try self.channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: "{")))
        #expect(self.channel.isActive)
        self.wait(1)
        #expect(!self.channel.isActive)
        guard case .head(let answer)? = try self.channel.readOutbound(as: HTTPResponsePart.self) else {
            Issue.record("There is no answer.")
            return
        }
        #expect(answer.status == .requestTimeout)
    }

    private func answer(_ status: HTTPResponse.Status = .ok) throws {
        try self.channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: status)))
        try self.channel.writeOutbound(HTTPResponsePart.end(nil))
    }

    /// The statuses that were answered.
    private func statuses() throws -> [Int] {
        var statuses: [Int] = []
        while let part = try self.channel.readOutbound(as: HTTPResponsePart.self) {
            if case .head(let head) = part { statuses.append(head.status.code) }
        }
        return statuses
    }

    @Test func `while others of the connection wait for their answers, nothing counts`() throws {
        for _ in 0..<2 {
            try self.channel.writeInbound(self.head)
            try self.channel.writeInbound(HTTPRequestPart.end(nil))
        }
        try self.channel.writeInbound(self.head)
        self.wait(100)
        try self.answer()
        self.wait(100)
        try self.answer()
        self.wait(29)
        #expect(self.channel.isActive)
        self.wait(1)
        #expect(try self.statuses() == [200, 200, 408])
        #expect(!self.channel.isActive)
    }

    @Test func `a request that was answered early is cut off at the limit, and not answered again`() throws {
        try self.channel.writeInbound(self.head)
        try self.answer(.notFound)
        self.wait(29)
        #expect(self.channel.isActive)
        self.wait(1)
        #expect(try self.statuses() == [404])
        #expect(!self.channel.isActive)
    }

    @Test func `between requests nothing counts, and each later one has its own time`() throws {
        for _ in 0..<3 {
            try self.channel.writeInbound(self.head)
            self.wait(20)
            try self.channel.writeInbound(HTTPRequestPart.end(nil))
            try self.answer()
            self.wait(25)
        }
        self.wait(500)
        #expect(self.channel.isActive)
        try self.channel.writeInbound(self.head)
        self.wait(29)
        #expect(self.channel.isActive)
        self.wait(1)
        #expect(!self.channel.isActive)
    }
}
