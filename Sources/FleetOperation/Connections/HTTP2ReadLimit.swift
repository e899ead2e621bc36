// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Closes a connection of HTTP/2 on which nothing whole arrives in time, or far too much begins at once; it stands before
/// the handlers of HTTP/2.
///
/// They know a connection when its preface is there, and see a frame when it is whole: who sends neither would keep a
/// place for ever, and so would who does not answer when it is asked whether it is there. All that one read brings they
/// work off before another connection of the event loop is looked at, and the limit of streams at once does not hold for
/// those that are refused on the spot.
package final class HTTP2ReadLimit: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer

    private let frameLimit: TimeAmount
    private let silenceLimit: TimeAmount?
    private let mostHeads: Int
    /// How many heads came with what is being read.
    private var heads = 0
    private var frames = HTTP2Frames(isClients: true)
    private let deadline = MovingDeadline()

    /// Sets the limits.
    ///
    /// - Parameters:
    ///   - frame: How long it may take from the connection's begin to the first frame's end, and for each later frame from
    ///     its first byte to its last.
    ///   - silence: How long nothing may come between two frames; `nil` leaves that to others.
    ///   - streams: How many streams a client may have at once. Twice as many that begin with one read end the connection: no
    ///     client that keeps to the limit can begin them, as it hears of no end meanwhile.
    package init(frame: Duration, silence: Duration?, streams: Int) {
        self.frameLimit = TimeAmount(frame)
        self.mostHeads = 2 * streams
        self.silenceLimit = silence.map { TimeAmount($0) }
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
        let hasEnd = self.unwrapInboundIn(data).withUnsafeReadableBytes { bytes in
            self.frames.read(bytes) { head in
                if head.type == HTTP2Frames.headersType { self.heads += 1 }
            }
        }
        guard self.heads <= self.mostHeads else { return context.close(promise: nil) }
        if self.frames.isBetween {
            self.deadline.time = self.silenceLimit.map { context.eventLoop.now + $0 }
        } else if wasBetween || hasEnd {
            self.deadline.time = context.eventLoop.now + self.frameLimit
            self.deadline.watch(context)
        }
        context.fireChannelRead(data)
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        self.heads = 0
        context.fireChannelReadComplete()
    }
}
