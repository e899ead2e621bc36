// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import NIOCore
import NIOHTTP2

/// Ends a gRPC call whose client takes nothing of what it is answered for too long.
///
/// A client that keeps its window for a call closed keeps the answer in memory, also behind the call's own deadline, while
/// its connection looks well. A long message has as much more time as a slow client needs for it. A stream that says
/// nothing, such as a watcher's of health, is left alone. It stands at the network's end of a stream's handlers.
final class UnreadCallLimit: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    /// How slowly a message may be taken, in bytes a second.
    static let slowestRate = 16 * 1024

    private let limit: TimeAmount
    /// When something of what waits must have left.
    private let deadline = MovingDeadline()
    /// How many frames were written that have not left, and how many bytes they have.
    private var unsent = (frames: 0, bytes: 0)

    /// Sets the limit.
    init(_ limit: Duration) {
        self.limit = TimeAmount(limit)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.deadline.cancel()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let bytes = if case .data(let frame) = self.unwrapOutboundIn(data) { frame.data.readableBytes } else { 0 }
        let since = self.unsent.frames == 0 ? context.eventLoop.now + self.limit : self.deadline.time
        self.deadline.time = since.map { $0 + Self.time(for: bytes) }
        self.unsent = (self.unsent.frames + 1, self.unsent.bytes + bytes)
        let gone = promise ?? context.eventLoop.makePromise()
        let bound = NIOLoopBound((self, context.eventLoop), eventLoop: context.eventLoop)
        gone.futureResult.whenComplete { _ in
            let (handler, eventLoop) = bound.value
            handler.left(bytes, at: eventLoop.now)
        }
        context.write(data, promise: gone)
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        // Most answers have left by now.
        if self.unsent.frames > 0 { self.deadline.watch(context) }
    }

    /// Hears that all of a frame has left.
    private func left(_ bytes: Int, at now: NIODeadline) {
        self.unsent = (self.unsent.frames - 1, self.unsent.bytes - bytes)
        self.deadline.time = self.unsent.frames == 0 ? nil : now + self.limit + Self.time(for: self.unsent.bytes)
    }

    private static func time(for bytes: Int) -> TimeAmount { .seconds(Int64(bytes / self.slowestRate)) }
}
