// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import NIOTLS
import Testing

@testable import FleetOperation

@Suite struct HTTP2DrainTests {
    private let network = Network()
    private let channel: EmbeddedChannel

    /// What a connection is asked for; like one of TLS, it stays open until its client has agreed to the end.
    private final class Network: ChannelOutboundHandler {
        typealias OutboundIn = Any

        private(set) var calls: [String] = []

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            self.calls.append("write")
        }

        func flush(context: ChannelHandlerContext) { self.calls.append("flush") }

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            self.calls.append("close")
        }
    }

    init() throws {
        self.channel = EmbeddedChannel(
            handlers: [self.network, HTTP2Drain(limit: .seconds(25), idleLimit: .seconds(75))])
        try self.channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        self.channel.pipeline.fireUserInboundEventTriggered(TLSUserEvent.handshakeCompleted(negotiatedProtocol: "h2"))
    }

    private func end() {
        self.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        self.channel.embeddedEventLoop.run()
    }

    @Test func `an idle connection hears a last word before its end`() {
        self.end()
        #expect(self.network.calls == ["write", "flush", "flush", "close"])
    }

    @Test func `what was written before the connection's end leaves first, and nothing after it`() {
        self.channel.write(ByteBuffer(string: "the end of an answer"), promise: nil)
        self.channel.close(promise: nil)
        #expect(self.network.calls == ["write", "flush", "close"])
        self.end()
        #expect(self.network.calls == ["write", "flush", "close"])
        self.channel.close(promise: nil)
        #expect(self.network.calls == ["write", "flush", "close", "close"])
    }
}
