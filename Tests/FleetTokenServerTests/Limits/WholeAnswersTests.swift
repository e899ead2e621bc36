// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@testable import FleetOperation

/// How a connection ends of which something waits to be sent.
@Suite struct WholeAnswersTests {
    private let channel: EmbeddedChannel
    private let network = SlowNetwork()

    /// Lets nothing leave before it is told to, as the socket of a client that does not read.
    private final class SlowNetwork: ChannelOutboundHandler {
        typealias OutboundIn = HTTPResponsePart

        private(set) var ends: [CloseMode] = []
        private(set) var parts: [HTTPResponsePart] = []
        private var waiting: [EventLoopPromise<Void>?] = []

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            self.parts.append(self.unwrapOutboundIn(data))
            self.waiting.append(promise)
        }

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            self.ends.append(mode)
            promise?.succeed()
        }

        /// Lets the next part leave, or fail.
        func send(orFail error: (any Error)? = nil) {
            let promise = self.waiting.removeFirst()
            if let error { promise?.fail(error) } else { promise?.succeed() }
        }
    }

    init() throws {
        self.channel = EmbeddedChannel(handlers: [
            self.network, UnreadLimit(.seconds(30)), AnswerParts(), WholeAnswers(),
        ])
        try self.channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    private func wait(_ seconds: Int64) { self.channel.embeddedEventLoop.advanceTime(by: .seconds(seconds)) }

    private func answer(_ body: ByteBuffer? = nil) {
        self.channel.write(HTTPResponsePart.head(HTTPResponse(status: .ok)), promise: nil)
        if let body { self.channel.write(HTTPResponsePart.body(body), promise: nil) }
        self.channel.write(HTTPResponsePart.end(nil), promise: nil)
        self.channel.flush()
    }

    private func sendAll() { for _ in self.network.parts { self.network.send() } }

    @Test(arguments: [CloseMode.all, .output])
    func `an end waits for the answer, and comes once`(mode: CloseMode) {
        self.answer(ByteBuffer(string: "{}"))
        self.network.send()
        self.network.send()
        let closed = self.channel.close(mode: mode)
        self.channel.close(mode: mode, promise: nil)
        #expect(self.network.ends == [])
        self.network.send()
        #expect(self.network.ends == [mode])
        #expect(throws: Never.self) { try closed.wait() }
    }

    @Test func `an end waits for every answer`() {
        self.answer()
        self.answer()
        self.channel.close(promise: nil)
        for _ in 0..<3 { self.network.send() }
        #expect(self.network.ends == [])
        self.network.send()
        #expect(self.network.ends == [.all])
    }

    @Test func `an end of both directions counts more than that of one`() {
        self.answer()
        self.channel.close(mode: .output, promise: nil)
        self.channel.close(promise: nil)
        self.channel.close(mode: .output, promise: nil)
        self.sendAll()
        #expect(self.network.ends == [.all])
    }

    @Test func `where nothing waits, or nothing is to be read any more, the end comes at once`() {
        self.answer()
        self.channel.close(mode: .input, promise: nil)
        #expect(self.network.ends == [.input])
        self.sendAll()
        self.channel.close(promise: nil)
        #expect(self.network.ends == [.input, .all])
    }

    @Test func `an answer that cannot be sent ends the wait, too`() {
        self.answer()
        self.channel.close(promise: nil)
        self.network.send()
        self.network.send(orFail: ChannelError.eof)
        #expect(self.network.ends == [.all])
    }

    @Test func `while the end waits, nothing else is read or answered`() throws {
        self.answer()
        self.channel.close(promise: nil)
        try self.channel.writeInbound(HTTPRequestPart.end(nil))
        #expect(try self.channel.readInbound(as: HTTPRequestPart.self) == nil)
        #expect(throws: ChannelError.outputClosed) { try self.channel.writeOutbound(HTTPResponsePart.end(nil)) }
        #expect(self.network.parts.count == 2)
    }

    @Test func `who reads nothing of the last answer is cut off, however little it is`() {
        self.answer()
        self.channel.close(promise: nil)
        self.wait(29)
        #expect(self.network.ends == [])
        self.wait(1)
        #expect(self.network.ends == [.all])
    }

    @Test func `a long answer goes out in parts, and who takes one now and then is not cut off`() throws {
        let body = ByteBuffer(bytes: (0..<300_000).map { UInt8(truncatingIfNeeded: $0) })
        self.answer(body)
        self.network.send()
        for _ in 0..<4 {
            self.wait(29)
            self.network.send()
        }
        #expect(self.network.ends == [])
        self.wait(29)
        #expect(self.network.ends == [])
        self.wait(1)
        #expect(self.network.ends == [.all])

        var received = ByteBuffer()
        for case .body(var part) in self.network.parts {
            #expect(part.readableBytes <= AnswerParts.partBytes)
            received.writeBuffer(&part)
        }
        #expect(received == body)
    }
}
