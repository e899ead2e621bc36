// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import NIOCore

#if canImport(Glibc)
    import Glibc
#endif

/// Ends a connection in stages once the server is to end, so that a client that is behind in reading gets all of its
/// answers (RFC 9112 §9.6).
///
/// A system that hears anything on a connection that was closed resets it, and what the client has not taken is lost; a
/// client of HTTP/2 says something while it reads. So only the output is closed, and what arrives is left out, until
///
/// - the client ends its side;
/// - its system has taken everything and it says nothing for a second, as one that keeps a connection for later;
/// - its system takes nothing for some seconds, as that of a phone that has vanished, or of a client that does not read;
/// - the time is up that answers have when the server ends.
///
/// It stands at the network's end, before TLS, whose own end goes out with the answers.
package final class LingeringClose: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = Any
    package typealias OutboundIn = Any

    /// How long a client says nothing that has no more to read.
    private static let silence = TimeAmount.seconds(1)
    private static let interval = TimeAmount.milliseconds(250)

    private let limit: TimeAmount
    private let patience: TimeAmount
    /// When the connection ends at the latest; `nil` before the server is to end.
    private var deadline: NIODeadline?
    /// When something arrived last.
    private var heard: NIODeadline?
    /// What the client's system had not confirmed at the last look, and since when it was as much.
    private var unconfirmed: (bytes: Int, since: NIODeadline)?
    private var isClosing = false
    /// Whether the end of the output is on its way, behind all that waited.
    private var isOutputClosed = false
    private var check: Scheduled<Void>?

    /// Sets the limit.
    ///
    /// - Parameters:
    ///   - limit: For how long the connection may go on when the server ends.
    ///   - patience: For how long the client's system may take nothing. One that is full takes something again when a
    ///     sixteenth of it is free; for whom that takes longer than the usual 3 s, `limit` is too short for the whole.
    package init(_ limit: Duration, patience: Duration = .seconds(3)) {
        self.limit = TimeAmount(limit)
        self.patience = TimeAmount(patience)
    }

    package func handlerRemoved(context: ChannelHandlerContext) { self.check.cancelOnce() }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent, self.deadline == nil {
            self.deadline = context.eventLoop.now + self.limit
        }
        context.fireUserInboundEventTriggered(event)
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.heard = context.eventLoop.now
        if !self.isClosing { context.fireChannelRead(data) }
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        // Those who asked for what arrived do not hear of it any more.
        if self.isClosing { context.read() } else { context.fireChannelReadComplete() }
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if self.isClosing { promise?.fail(ChannelError.outputClosed) } else { context.write(data, promise: promise) }
    }

    package func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard !self.isClosing else { return context.channel.closeFuture.cascade(to: promise) }
        guard mode == .all, let deadline, context.eventLoop.now < deadline else {
            return context.close(mode: mode, promise: promise)
        }
        self.isClosing = true
        context.channel.closeFuture.cascade(to: promise)
        context.flush()
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let closed = context.eventLoop.makePromise(of: Void.self)
        closed.futureResult.whenComplete { _ in bound.value.isOutputClosed = true }
        context.close(mode: .output, promise: closed)
        context.read()
        self.checkLater(context)
    }

    private func checkLater(_ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        self.check = context.eventLoop.scheduleTask(in: Self.interval) {
            let (handler, context) = bound.value
            handler.checkClient(context)
        }
    }

    /// Closes the connection in full if there is nothing to wait for.
    private func checkClient(_ context: ChannelHandlerContext) {
        let now = context.eventLoop.now
        guard let deadline, now < deadline else { return context.close(promise: nil) }
        let bytes = Self.unconfirmedBytes(of: context)
        if self.unconfirmed?.bytes != bytes { self.unconfirmed = (bytes, now) }
        let hasAll = self.isOutputClosed && bytes == 0
        let last = hasAll ? self.heard : self.unconfirmed?.since
        let patience = hasAll ? Self.silence : self.patience
        if let last, now < last + patience { self.checkLater(context) } else { context.close(promise: nil) }
    }

    /// How much of what was sent, the end of the output included, the client's system has not confirmed; 0 where that is not
    /// known.
    private static func unconfirmedBytes(of context: ChannelHandlerContext) -> Int {
        #if canImport(Glibc)
            let bytes = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable { (socket: CInt) in
                var bytes: CInt = 0
                return ioctl(socket, UInt(TIOCOUTQ), &bytes) == 0 ? bytes : 0
            }
            return Int(bytes ?? 0)
        #else
            return 0
        #endif
    }
}
