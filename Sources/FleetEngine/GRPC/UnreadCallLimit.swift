// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import NIOCore
import NIOHTTP2

/// Ends a gRPC call whose client takes nothing of what it is answered for too long.
///
/// A client that keeps its window for a call closed keeps the answer in memory, also behind the call's own deadline, while
/// its connection looks well. A stream that says nothing, such as a watcher's of health, is left alone, and so is a client
/// that takes a long message slowly, which is sent in parts. It stands at the network's end of a stream's handlers.
final class UnreadCallLimit: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    /// The most bytes of a part.
    static let partBytes = 64 * 1024

    private let limit: TimeAmount
    /// When something of what waits must have left.
    private let deadline = MovingDeadline()
    /// How many frames were written that have not left.
    private var unsent = 0

    /// Sets the limit.
    init(_ limit: Duration) {
        self.limit = TimeAmount(limit)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.deadline.cancel()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .data(var frame) = self.unwrapOutboundIn(data), case .byteBuffer(var message) = frame.data else {
            return self.write(data, context, promise)
        }
        while message.readableBytes > Self.partBytes, let part = message.readSlice(length: Self.partBytes) {
            self.write(self.wrapOutboundOut(.data(.init(data: .byteBuffer(part)))), context, nil)
        }
        frame.data = .byteBuffer(message)
        self.write(self.wrapOutboundOut(.data(frame)), context, promise)
    }

    /// Writes a frame, and hears when all of it has left.
    private func write(_ frame: NIOAny, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
        if self.unsent == 0 { self.deadline.time = context.eventLoop.now + self.limit }
        self.unsent += 1
        let gone = promise ?? context.eventLoop.makePromise()
        let bound = NIOLoopBound((self, context.eventLoop), eventLoop: context.eventLoop)
        gone.futureResult.whenComplete { _ in
            let (handler, eventLoop) = bound.value
            handler.unsent -= 1
            handler.deadline.time = handler.unsent == 0 ? nil : eventLoop.now + handler.limit
        }
        context.write(frame, promise: gone)
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        // Most answers have left by now.
        if self.unsent > 0 { self.deadline.watch(context) }
    }
}
