// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import Testing

@testable import FleetEngine

@Suite struct CallDrainTests {
    private let drain = CallDrain()
    private let loop = EmbeddedEventLoop()
    private let connection: EmbeddedChannel

    init() throws {
        self.connection = EmbeddedChannel(handler: self.drain, loop: self.loop)
        try self.connection.connect(to: .init(unixDomainSocketPath: "/grpc")).wait()
    }

    /// Holds what waits to be sent before the connection's end.
    private final class Outgoing: ChannelOutboundHandler {
        typealias OutboundIn = Never

        private(set) var ends: [CloseMode] = []
        private(set) var rest: EventLoopPromise<Void>?

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            self.ends.append(mode)
            if mode == .output { self.rest = promise } else { context.close(mode: mode, promise: promise) }
        }
    }

    private func call() throws -> EmbeddedChannel {
        let call = EmbeddedChannel(loop: self.loop)
        try call.connect(to: .init(unixDomainSocketPath: "/call")).wait()
        self.drain.began(call)
        return call
    }

    private func end() { self.connection.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }

    @Test func `a connection without calls ends a second after the server is to end`() throws {
        try self.call().close().wait()
        self.loop.advanceTime(by: .seconds(60))
        #expect(self.connection.isActive)
        self.end()
        self.loop.advanceTime(by: .milliseconds(999))
        #expect(self.connection.isActive)
        self.loop.advanceTime(by: .milliseconds(1))
        #expect(!self.connection.isActive)
    }

    @Test func `a connection with calls ends a second after the last of them`() throws {
        let calls = try [self.call(), self.call()]
        self.end()
        self.loop.advanceTime(by: .seconds(5))
        try calls[0].close().wait()
        self.loop.advanceTime(by: .seconds(5))
        #expect(self.connection.isActive)
        try calls[1].close().wait()
        self.loop.advanceTime(by: .milliseconds(999))
        #expect(self.connection.isActive)
        self.loop.advanceTime(by: .milliseconds(1))
        #expect(!self.connection.isActive)
    }

    @Test func `a call that arrives within the second is waited for`() throws {
        self.end()
        self.loop.advanceTime(by: .milliseconds(500))
        let call = try self.call()
        self.loop.advanceTime(by: .seconds(5))
        #expect(self.connection.isActive)
        try call.close().wait()
        self.loop.advanceTime(by: .seconds(1))
        #expect(!self.connection.isActive)
    }

    @Test func `what waits to be sent leaves before the connection ends, which is the client's affair then`() throws {
        let outgoing = Outgoing()
        try self.connection.pipeline.syncOperations.addHandler(outgoing, position: .first)
        self.end()
        self.loop.advanceTime(by: .seconds(5))
        #expect(outgoing.ends == [.output])
        #expect(self.connection.isActive)
        outgoing.rest?.succeed()
        #expect(outgoing.ends == [.output])
        #expect(self.connection.isActive)
    }
}
