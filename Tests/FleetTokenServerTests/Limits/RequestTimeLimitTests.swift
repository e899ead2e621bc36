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

    @Test func `between requests nothing counts, and each later one has its own time`() throws {
        for _ in 0..<3 {
            try self.channel.writeInbound(self.head)
            self.wait(20)
            try self.channel.writeInbound(HTTPRequestPart.end(nil))
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
