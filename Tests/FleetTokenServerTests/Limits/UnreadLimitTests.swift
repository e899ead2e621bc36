// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import NIOCore
import NIOEmbedded
import Testing

@Suite struct UnreadLimitTests {
    /// Keeps what is written until the client makes room for it, as a stream does whose window is closed.
    private final class Window: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        var kept: [EventLoopPromise<Void>?] = []
        var parts: [ByteBuffer] = []

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            self.kept.append(promise)
            self.parts.append(self.unwrapOutboundIn(data))
        }

        func flush(context: ChannelHandlerContext) {}

        func takeOne() { self.kept.removeFirst()?.succeed() }
    }

    /// Tells of parts that go out, once somebody wants to hear of them.
    private final class Telling {
        var sent: ((Int) -> Void)?
    }

    private let window = Window()
    private let telling = Telling()

    private func channel() throws -> EmbeddedChannel {
        let limit = UnreadLimit(.seconds(30)) { [telling] _, sent in
            telling.sent = sent
            return { telling.sent = nil }
        }
        let channel = EmbeddedChannel(handlers: [self.window, limit])
        try channel.connect(to: .init(unixDomainSocketPath: "/client")).wait()
        return channel
    }

    /// Writes three parts, of which the second has so many bytes.
    private func answer(_ channel: EmbeddedChannel, _ count: Int = 6) {
        for count in [5, count, 5] { channel.write(ByteBuffer(repeating: 1, count: count), promise: nil) }
        channel.flush()
    }

    /// Lets time pass, behind which the channel is to be closed, and not a second before.
    private func expectEnd(of channel: EmbeddedChannel, in seconds: Int64) {
        channel.embeddedEventLoop.advanceTime(by: .seconds(seconds - 1))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test func `who takes nothing of an answer is cut off, however short it is`() throws {
        let channel = try self.channel()
        channel.write(ByteBuffer(string: "{}"), promise: nil)
        channel.flush()
        self.expectEnd(of: channel, in: 30)
    }

    @Test func `who takes one part after another is not`() throws {
        let channel = try self.channel()
        self.answer(channel)
        for _ in 1...2 {
            channel.embeddedEventLoop.advanceTime(by: .seconds(29))
            self.window.takeOne()
        }
        self.expectEnd(of: channel, in: 30)
    }

    @Test func `more that is written is no more time`() throws {
        let channel = try self.channel()
        self.answer(channel)
        channel.embeddedEventLoop.advanceTime(by: .seconds(20))
        self.answer(channel)
        self.expectEnd(of: channel, in: 10)
    }

    @Test func `a long part of which 64 KiB are taken now and then has more time`() throws {
        let channel = try self.channel()
        self.answer(channel, 200_000)
        #expect(self.window.parts.map(\.readableBytes) == [5, 200_000, 5])
        self.window.takeOne()
        for _ in 1...3 {
            self.telling.sent?(32 * 1024)
            channel.embeddedEventLoop.advanceTime(by: .seconds(29))
            self.telling.sent?(32 * 1024)
        }
        channel.embeddedEventLoop.advanceTime(by: .seconds(29))
        #expect(channel.isActive)
        self.window.takeOne()
        self.expectEnd(of: channel, in: 30)
        #expect(self.telling.sent == nil)
    }

    @Test func `a long part of which nothing is taken, or a byte at a time, ends the channel all the same`() throws {
        let channel = try self.channel()
        self.answer(channel, 31 << 20)
        self.telling.sent?(16 * 1024)
        for _ in 1...29 {
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            self.telling.sent?(1)
        }
        self.expectEnd(of: channel, in: 1)
    }

    @Test func `who has nothing to take is left alone, and held to the limit for what comes later`() throws {
        let channel = try self.channel()
        self.answer(channel)
        while !self.window.kept.isEmpty { self.window.takeOne() }
        channel.embeddedEventLoop.advanceTime(by: .seconds(3600))
        #expect(channel.isActive)
        self.answer(channel)
        self.expectEnd(of: channel, in: 30)
    }

    @Test func `for what cannot be sent nobody waits`() throws {
        let channel = try self.channel()
        self.answer(channel)
        for promise in self.window.kept { promise?.fail(ChannelError.eof) }
        channel.embeddedEventLoop.advanceTime(by: .seconds(3600))
        #expect(channel.isActive)
    }
}
