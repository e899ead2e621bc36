// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import Testing

@testable import FleetOperation

@Suite(.timeLimit(.minutes(5))) struct LingeringCloseTests {
    /// More than the systems of both ends keep.
    private let answer = ByteBuffer(repeating: 7, count: 8 << 20)

    /// Reads when it is told to, says a word to whatever it reads, and never ends its side before the server does.
    private final class Client: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        /// How many bytes there were when the connection's input ended, or why it broke.
        let received: EventLoopPromise<Int>
        private let count: NIOLoopBoundBox<Int>

        init(_ eventLoop: any EventLoop) {
            self.received = eventLoop.makePromise()
            self.count = NIOLoopBoundBox.makeBoxSendingValue(0, eventLoop: eventLoop)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.count.value += self.unwrapInboundIn(data).readableBytes
            context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(integer: UInt8(1))), promise: nil)
        }

        func channelReadComplete(context: ChannelHandlerContext) { context.read() }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { self.received.fail(error) }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case ChannelEvent.inputClosed = event { self.received.succeed(self.count.value) }
        }

        func channelInactive(context: ChannelHandlerContext) { self.received.succeed(self.count.value) }
    }

    /// Both ends of a connection, of which the server's has the limit.
    private func connect(
        limit: Duration, patience: Duration = .seconds(60),
        _ body: (_ server: any Channel, _ client: any Channel, _ received: Client) async throws -> Void
    ) async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let accepted = eventLoop.makePromise(of: (any Channel).self)
        let listener = try await ServerBootstrap(group: eventLoop)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(LingeringClose(limit, patience: patience))
                    accepted.succeed(channel)
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let handler = Client(eventLoop)
        let client = try await ClientBootstrap(group: eventLoop)
            .channelOption(.autoRead, value: false)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelOption(.socketOption(.so_rcvbuf), value: 4096)
            .channelInitializer { $0.pipeline.addHandler(handler) }
            .connect(to: try #require(listener.localAddress)).get()
        try await body(try await accepted.futureResult.get(), client, handler)
        try? await client.close()
        try await listener.close()
    }

    /// Tells a connection that the server is to end.
    private func quiesce(_ server: any Channel) async throws {
        try await server.eventLoop.submit {
            server.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }.get()
    }

    @Test func `who is behind in reading, and says something meanwhile, gets all when the server ends`() async throws {
        try await self.connect(limit: .seconds(3600)) { server, client, handler in
            try await self.quiesce(server)
            try await server.eventLoop.submit {
                server.writeAndFlush(self.answer, promise: nil)
                server.close(promise: nil)
                server.close(mode: .input, promise: nil)
            }.get()
            try await client.writeAndFlush(ByteBuffer(string: "still there"))
            client.read()
            #expect(try await handler.received.futureResult.get() == self.answer.readableBytes)
            try await client.close()
            try await server.closeFuture.get()
        }
    }

    @Test func `who has all and says nothing is not waited for`() async throws {
        try await self.connect(limit: .seconds(3600)) { server, client, handler in
            try await self.quiesce(server)
            server.writeAndFlush(ByteBuffer(string: "the last answer"), promise: nil)
            try await server.close()
            client.read()
            #expect(try await handler.received.futureResult.get() == 15)
        }
    }

    @Test func `who takes nothing is waited for until the time is up`() async throws {
        try await self.connect(limit: .milliseconds(400)) { server, _, handler in
            let begun = ContinuousClock.now
            try await self.quiesce(server)
            server.writeAndFlush(self.answer, promise: nil)
            try await server.close()
            #expect(ContinuousClock.now - begun >= .milliseconds(400))
            handler.received.succeed(0)
        }
    }

    @Test func `who takes nothing for too long is not waited for`() async throws {
        try await self.connect(limit: .seconds(3600), patience: .milliseconds(400)) { server, _, handler in
            let begun = ContinuousClock.now
            try await self.quiesce(server)
            server.writeAndFlush(self.answer, promise: nil)
            try await server.close()
            #expect(ContinuousClock.now - begun >= .milliseconds(400))
            handler.received.succeed(0)
        }
    }

    @Test func `before the server is to end, a connection is closed at once`() async throws {
        try await self.connect(limit: .seconds(3600)) { server, _, handler in
            server.writeAndFlush(self.answer, promise: nil)
            try await server.close()
            handler.received.succeed(0)
        }
    }
}
