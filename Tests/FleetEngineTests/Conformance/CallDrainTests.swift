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
}
