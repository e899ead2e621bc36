// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Ends a connection, or a stream of HTTP/2, whose client takes nothing of what it is answered for too long.
///
/// Without it, whoever asks and reads nothing keeps the answer for ever: an idle time counts between requests, not while an
/// answer is on its way, and a stream's window may be closed though its connection looks well. A client that reads slowly
/// is left alone, as parts of what waits leave, and so is one to which nothing is said, such as a watcher of health.
package final class UnreadLimit<Part>: ChannelOutboundHandler, RemovableChannelHandler {
    package typealias OutboundIn = Part
    package typealias OutboundOut = Part

    /// How slowly a part may be taken that has more time for its length, in bytes a second.
    package static var slowestRate: Int { 16 * 1024 }

    private let limit: TimeAmount
    private let length: ((Part) -> Int)?
    /// When something of what waits must have left.
    private let deadline = MovingDeadline()
    /// How many parts were written that have not left, and how many bytes of them have more time.
    private var unsent = (parts: 0, bytes: 0)

    /// Sets the limit.
    ///
    /// - Parameters:
    ///   - limit: For how long no part of what waits may leave.
    ///   - length: The bytes of a part for which it has more time; `nil` where each part is short.
    package init(_ limit: Duration, length: ((Part) -> Int)? = nil) {
        self.limit = TimeAmount(limit)
        self.length = length
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.deadline.cancel()
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let bytes = self.length?(self.unwrapOutboundIn(data)) ?? 0
        let since = self.unsent.parts == 0 ? context.eventLoop.now + self.limit : self.deadline.time
        self.deadline.time = since.map { $0 + Self.time(for: bytes) }
        self.unsent = (self.unsent.parts + 1, self.unsent.bytes + bytes)
        let gone = promise ?? context.eventLoop.makePromise()
        let bound = NIOLoopBound((self, context.eventLoop), eventLoop: context.eventLoop)
        gone.futureResult.whenComplete { _ in
            let (handler, eventLoop) = bound.value
            handler.left(bytes, at: eventLoop.now)
        }
        context.write(data, promise: gone)
    }

    package func flush(context: ChannelHandlerContext) {
        context.flush()
        // Most answers have left by now.
        if self.unsent.parts > 0 { self.deadline.watch(context) }
    }

    /// Hears that all of a part has left, or cannot.
    private func left(_ bytes: Int, at now: NIODeadline) {
        self.unsent = (self.unsent.parts - 1, self.unsent.bytes - bytes)
        self.deadline.time = self.unsent.parts == 0 ? nil : now + self.limit + Self.time(for: self.unsent.bytes)
    }

    private static func time(for bytes: Int) -> TimeAmount { .seconds(Int64(bytes / self.slowestRate)) }
}
