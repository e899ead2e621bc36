// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import NIOHTTP2
import Testing

@testable import FleetEngine

@Suite struct SentMessagesTests {
    /// A frame of HTTP/2 (RFC 9113 §4.1).
    private func frame(_ type: UInt8, call: Int32, _ length: Int) -> ByteBuffer {
        var frame = ByteBuffer(bytes: [UInt8(length >> 16), UInt8(length >> 8 & 255), UInt8(length & 255), type, 1])
        frame.writeInteger(call)
        frame.writeRepeatingByte(7, count: length)
        return frame
    }

    @Test(arguments: [(1, 700), (4, 700), (9, 700), (1000, 70_000), (1 << 20, 70_000)])
    func `each call hears of its own messages, however the bytes come`(size: Int, length: Int) throws {
        let messages = SentMessages()
        let channel = EmbeddedChannel(handler: messages)
        var heard: [[Int]] = [[], []]
        let letGo = messages.hear(of: 1) { heard[0].append($0) }
        _ = messages.hear(of: 3) { heard[1].append($0) }
        var all = ByteBuffer()
        for next in [
            self.frame(4, call: 0, 6), self.frame(1, call: 1, 40), self.frame(0, call: 1, length),
            self.frame(0, call: 3, 0), self.frame(0, call: 5, 9), self.frame(0, call: 3, 12), self.frame(1, call: 3, 5),
        ] {
            all.writeImmutableBuffer(next)
        }
        let whole = all
        while let part = all.readSlice(length: min(size, all.readableBytes)), part.readableBytes > 0 {
            try channel.writeOutbound(part)
        }
        #expect(heard == [[length], [0, 12]])
        var left = ByteBuffer()
        while let part = try channel.readOutbound(as: ByteBuffer.self) { left.writeImmutableBuffer(part) }
        #expect(left == whole)
        letGo()
        try channel.writeOutbound(self.frame(0, call: 1, 3))
        #expect(heard[0].count == 1)
    }
}
