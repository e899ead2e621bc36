// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Ends a connection, or a stream of HTTP/2, whose client takes nothing of what it is answered for too long.
///
/// Without it, whoever asks and reads nothing keeps the answer for ever: an idle time counts between requests, not while an
/// answer is on its way, and a stream's window may be closed though its connection looks well. A client that reads slowly
/// is left alone, as parts of what waits leave, and so is one to which nothing is said, such as a watcher of health.
package final class UnreadLimit: ChannelOutboundHandler, RemovableChannelHandler {
    package typealias OutboundIn = Any
    package typealias OutboundOut = Any

    /// Begins to tell of the bytes of long parts that go out, in the channel's event loop, and returns what ends that.
    package typealias Progress = (
        _ context: ChannelHandlerContext, _ sent: @escaping (_ bytes: Int) -> Void
    ) -> () -> Void

    /// How much of a long part must be taken within the limit, in bytes.
    package static let leastBytes = 64 * 1024

    private let limit: TimeAmount
    private let progress: Progress?
    /// Ends the telling, once it has begun.
    private var endProgress: (() -> Void)?
    /// When enough of what waits must have left.
    private let deadline = MovingDeadline()
    /// How many parts were written that have not left in full.
    private var unsent = 0
    /// How many bytes of a long part went out since the deadline was set.
    private var taken = 0

    /// Sets the limit.
    ///
    /// - Parameters:
    ///   - limit: For how long no part of what waits may leave, nor ``leastBytes`` of a long one.
    ///   - progress: Tells what goes out of long parts, once some wait; `nil` where each part is short.
    package init(_ limit: Duration, progress: Progress? = nil) {
        self.limit = TimeAmount(limit)
        self.progress = progress
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.deadline.cancel()
        self.endProgress?()
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let eventLoop = context.eventLoop
        if self.unsent == 0 { self.begin(at: eventLoop.now) }
        self.unsent += 1
        let gone = promise ?? eventLoop.makePromise()
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        gone.futureResult.whenComplete { _ in bound.value.partLeft(at: eventLoop.now) }
        context.write(data, promise: gone)
    }

    package func flush(context: ChannelHandlerContext) {
        context.flush()
        // Most answers have left by now.
        guard self.unsent > 0 else { return }
        self.deadline.watch(context)
        guard self.endProgress == nil, let progress else { return }
        let eventLoop = context.eventLoop
        self.endProgress = progress(context) { [weak self] in self?.sent($0, at: eventLoop.now) }
    }

    private func sent(_ bytes: Int, at now: NIODeadline) {
        self.taken += bytes
        if self.unsent > 0, self.taken >= Self.leastBytes { self.begin(at: now) }
    }

    /// Hears that all of a part has left, or cannot.
    private func partLeft(at now: NIODeadline) {
        self.unsent -= 1
        if self.unsent == 0 { self.deadline.time = nil } else { self.begin(at: now) }
    }

    private func begin(at now: NIODeadline) {
        self.deadline.time = now + self.limit
        self.taken = 0
    }
}
