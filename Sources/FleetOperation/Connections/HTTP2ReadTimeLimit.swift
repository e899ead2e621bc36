// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Closes a connection of HTTP/2 on which nothing whole arrives in time; it stands before the handlers of HTTP/2.
///
/// They know a connection when its preface is there, and see a frame when it is whole: who sends neither would keep a
/// place for ever, and so would who does not answer when it is asked whether it is there.
package final class HTTP2ReadTimeLimit: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer

    /// Where the bytes of a connection stand between its frames (RFC 9113 §3.4, §4.1).
    private struct Frames {
        /// The bytes that are missing of the preface's text, or of a frame's payload.
        private var missing = 24
        /// How much of a frame's head is there, of 9 bytes, and the length that its first three tell.
        private var head = (count: 0, length: 0)
        private var isPrefaceRead = false

        /// Whether the last byte was a frame's last.
        var isBetween: Bool { self.isPrefaceRead && self.missing == 0 && self.head.count == 0 }

        /// Takes in bytes; says whether a frame ended among them.
        mutating func read(_ bytes: UnsafeRawBufferPointer) -> Bool {
            var hasEnd = false
            var index = 0
            while index < bytes.count {
                if self.missing > 0 {
                    let count = min(self.missing, bytes.count - index)
                    self.missing -= count
                    index += count
                } else {
                    if self.head.count < 3 { self.head.length = self.head.length << 8 | Int(bytes[index]) }
                    self.head.count += 1
                    index += 1
                    guard self.head.count == 9 else { continue }
                    self.missing = self.head.length
                    self.head = (0, 0)
                }
                guard self.missing == 0 else { continue }
                // The preface's text ends no frame.
                hasEnd = hasEnd || self.isPrefaceRead
                self.isPrefaceRead = true
            }
            return hasEnd
        }
    }

    private let frameLimit: TimeAmount
    private let silenceLimit: TimeAmount
    private var frames = Frames()
    private let deadline = MovingDeadline()

    /// Sets the limits.
    ///
    /// - Parameters:
    ///   - frame: How long it may take from the connection's begin to the first frame's end, and for each later frame from
    ///     its first byte to its last.
    ///   - silence: How long nothing may come between two frames.
    package init(frame: Duration, silence: Duration) {
        self.frameLimit = TimeAmount(frame)
        self.silenceLimit = TimeAmount(silence)
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        self.deadline.time = context.eventLoop.now + self.frameLimit
        self.deadline.watch(context)
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.deadline.cancel()
    }

    package func channelInactive(context: ChannelHandlerContext) {
        self.deadline.cancel()
        context.fireChannelInactive()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let wasBetween = self.frames.isBetween
        let hasEnd = self.unwrapInboundIn(data).withUnsafeReadableBytes { self.frames.read($0) }
        if self.frames.isBetween {
            self.deadline.time = context.eventLoop.now + self.silenceLimit
        } else if wasBetween || hasEnd {
            self.deadline.time = context.eventLoop.now + self.frameLimit
        }
        context.fireChannelRead(data)
    }
}
