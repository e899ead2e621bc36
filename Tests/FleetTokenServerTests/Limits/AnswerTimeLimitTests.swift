// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import NIOCore
import NIOEmbedded
import Testing

@Suite struct AnswerTimeLimitTests {
    private let channel = EmbeddedChannel(handler: AnswerTimeLimit(unread: .seconds(30), drain: .seconds(25)))

    init() throws {
        try self.channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    private func wait(_ seconds: Int64) { self.channel.embeddedEventLoop.advanceTime(by: .seconds(seconds)) }

    private func setWritable(_ isWritable: Bool) {
        self.channel.isWritable = isWritable
        self.channel.pipeline.fireChannelWritabilityChanged()
    }

    @Test func `who reads nothing of an answer is cut off`() {
        self.setWritable(false)
        self.wait(29)
        #expect(self.channel.isActive)
        self.wait(1)
        #expect(!self.channel.isActive)
    }

    @Test func `who reads slowly is not`() {
        for _ in 0..<5 {
            self.setWritable(false)
            self.wait(29)
            self.setWritable(true)
        }
        self.wait(500)
        #expect(self.channel.isActive)
    }

    @Test func `what is still open when the time to end is over is cut off`() {
        self.wait(500)
        self.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        self.wait(20)
        self.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        self.wait(4)
        #expect(self.channel.isActive)
        self.wait(1)
        #expect(!self.channel.isActive)
    }
}
