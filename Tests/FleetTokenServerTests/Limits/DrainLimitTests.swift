// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import NIOCore
import NIOEmbedded
import Testing

@Suite struct DrainLimitTests {
    @Test func `what is still open when the time to end is over is cut off`() throws {
        let channel = EmbeddedChannel(handler: DrainLimit(.seconds(25)))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        func wait(_ seconds: Int64) { channel.embeddedEventLoop.advanceTime(by: .seconds(seconds)) }
        wait(500)
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        wait(20)
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        wait(4)
        #expect(channel.isActive)
        wait(1)
        #expect(!channel.isActive)
    }
}
