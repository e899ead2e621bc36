// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import Testing

@testable import FleetOperation

@Suite struct HTTP2ReadLimitTests {
    /// A client's preface with its settings, and a frame that follows.
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]
    private static let ping: [UInt8] = [0, 0, 8, 6, 0, 0, 0, 0, 0] + Array(repeating: 0, count: 8)

    private let channel: EmbeddedChannel

    init() {
        self.channel = EmbeddedChannel()
    }

    /// Begins a connection with limits of 30 seconds for a frame, and perhaps of silence.
    private func begin(silence: Duration?) throws {
        try self.channel.pipeline.syncOperations.addHandler(
            HTTP2ReadLimit(frame: .seconds(30), silence: silence, streams: 2))
        try self.channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    private func receive(_ bytes: some Sequence<UInt8>) throws {
        try self.channel.writeInbound(ByteBuffer(bytes: bytes))
    }

    /// Whether the connection is open when some time has passed.
    private func isOpen(after seconds: Int64) -> Bool {
        self.channel.embeddedEventLoop.advanceTime(by: .seconds(seconds))
        return self.channel.isActive
    }

    @Test(arguments: [0, 32])
    func `a preface that does not come whole ends the connection`(count: Int) throws {
        try self.begin(silence: nil)
        try self.receive(Self.preface.prefix(count))
        #expect(self.isOpen(after: 29))
        #expect(!self.isOpen(after: 1))
    }

    @Test(arguments: [nil, .seconds(80)] as [Duration?], [1, 31])
    func `each frame has its time, however long nothing came before`(silence: Duration?, quiet: Int64) throws {
        try self.begin(silence: silence)
        try self.receive(Self.preface)
        #expect(self.isOpen(after: quiet))
        for byte in Self.ping.prefix(10) {
            #expect(self.channel.isActive)
            try self.receive([byte])
            _ = self.isOpen(after: 3)
        }
        #expect(!self.channel.isActive)
    }

    @Test(arguments: [([4], true), ([4, 4], true), ([5], false), ([4, 5], false)])
    func `more streams than a client can know to have room end the connection`(reads: [Int], goesOn: Bool) throws {
        try self.begin(silence: nil)
        try self.receive(Self.preface)
        var stream: UInt8 = 1
        for count in reads {
            var frames: [UInt8] = []
            for _ in 0..<count {
                frames += [0, 0, 1, HTTP2Frames.headersType, 5, 0, 0, 0, stream, 0x82]
                stream += 2
            }
            try self.receive(frames)
        }
        #expect(self.channel.isActive == goesOn)
    }

    @Test func `frames that come whole may be far apart, as far as silence may last`() throws {
        try self.begin(silence: .seconds(80))
        try self.receive(Self.preface)
        for _ in 0..<5 {
            #expect(self.isOpen(after: 79))
            try self.receive(Self.ping)
        }
        #expect(!self.isOpen(after: 80))
    }

    @Test func `where silence has no limit, others end the connection`() throws {
        try self.begin(silence: nil)
        try self.receive(Self.preface)
        #expect(self.isOpen(after: 86_400))
    }
}
