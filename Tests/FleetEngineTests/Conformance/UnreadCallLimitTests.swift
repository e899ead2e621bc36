// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import FleetEngine

@Suite struct UnreadCallLimitTests {
    /// Keeps what is written until the client makes room for it, as a stream does whose window is closed.
    private final class Window: ChannelOutboundHandler {
        typealias OutboundIn = HTTP2Frame.FramePayload

        var kept: [EventLoopPromise<Void>?] = []
        var message = ByteBuffer()

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            self.kept.append(promise)
            guard case .data(let frame) = self.unwrapOutboundIn(data), case .byteBuffer(let part) = frame.data
            else { return }
            #expect(!frame.endStream)
            self.message.writeImmutableBuffer(part)
        }

        func flush(context: ChannelHandlerContext) {}

        func takeOne() { self.kept.removeFirst()?.succeed() }
    }

    private let window = Window()
    private let channel: EmbeddedChannel

    init() throws {
        self.channel = EmbeddedChannel(handlers: [self.window, UnreadCallLimit(.seconds(30))])
        try self.channel.connect(to: .init(unixDomainSocketPath: "/grpc")).wait()
    }

    /// Answers with a head, a message and the status.
    private func answer(_ text: ByteBuffer = ByteBuffer(string: "answer")) {
        let head = HTTP2Frame.FramePayload.headers(.init(headers: [":status": "200"]))
        let message = HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(text)))
        for frame in [head, message, head] { self.channel.write(frame, promise: nil) }
        self.channel.flush()
    }

    private func pass(_ seconds: Int64) { self.channel.embeddedEventLoop.advanceTime(by: .seconds(seconds)) }

    @Test func `a call of whose answer nothing is taken ends at the limit`() {
        self.answer()
        self.pass(29)
        #expect(self.channel.isActive)
        self.pass(1)
        #expect(!self.channel.isActive)
    }

    @Test func `a call whose answer is taken bit by bit goes on`() {
        self.answer()
        for _ in 1...2 {
            self.pass(29)
            self.window.takeOne()
        }
        self.pass(29)
        #expect(self.channel.isActive)
        self.pass(1)
        #expect(!self.channel.isActive)
    }

    @Test func `a long message has a second more for each 16 KiB, and is sent whole`() {
        let long = ByteBuffer(bytes: (0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 3) })
        self.answer(long)
        #expect(self.window.message == long)
        #expect(self.window.kept.count == 3)
        self.pass(29)
        self.window.takeOne()
        self.pass(30 + 11)
        #expect(self.channel.isActive)
        self.window.takeOne()
        self.pass(29)
        #expect(self.channel.isActive)
        self.pass(1)
        #expect(!self.channel.isActive)
    }

    @Test func `a long message of which nothing is taken ends its call all the same`() {
        self.answer(ByteBuffer(repeating: 1, count: 160 * 1024))
        self.pass(39)
        #expect(self.channel.isActive)
        self.pass(1)
        #expect(!self.channel.isActive)
    }

    @Test func `a call that has nothing to say is left alone, and held to the limit for what it says later`() {
        self.answer()
        while !self.window.kept.isEmpty { self.window.takeOne() }
        self.pass(3600)
        #expect(self.channel.isActive)
        self.answer()
        self.pass(29)
        #expect(self.channel.isActive)
        self.pass(1)
        #expect(!self.channel.isActive)
    }
}
