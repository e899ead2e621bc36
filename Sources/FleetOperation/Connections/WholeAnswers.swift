// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTPTypes

/// Lets no connection, or stream of HTTP/2, end before the answers that were given on it have left.
///
/// Whoever closes a channel gives up what waits to be sent. Of a long answer to a client that reads slowly, the rest would
/// be lost when the server ends, when the connection was idle for too long, or when the client has said that it sends
/// nothing more. While the end waits, nothing else is read or answered. ``UnreadLimit`` and ``DrainLimit``, which stand
/// nearer to the network, do not wait.
final class WholeAnswers: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// How many answers are written, of which something waits to be sent.
    private var unsent = 0
    /// How the channel ends when they have left.
    private var end: (mode: CloseMode, promise: EventLoopPromise<Void>?)?

    func handlerRemoved(context: ChannelHandlerContext) {
        self.end?.promise?.succeed()
        self.end = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard self.end?.mode != .all else { return }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard self.end == nil else {
            promise?.fail(ChannelError.outputClosed)
            return
        }
        guard case .end = self.unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
        self.unsent += 1
        let gone = promise ?? context.eventLoop.makePromise()
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        gone.futureResult.whenComplete { _ in
            let (handler, context) = bound.value
            handler.answerLeft(context)
        }
        context.write(data, promise: gone)
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode != .input, self.unsent > 0 else { return context.close(mode: mode, promise: promise) }
        guard let end else {
            self.end = (mode, promise)
            return context.flush()
        }
        if mode == .all { self.end?.mode = .all }
        if let known = end.promise { known.futureResult.cascade(to: promise) } else { self.end?.promise = promise }
    }

    /// Ends the channel as it was to end, once nothing waits.
    private func answerLeft(_ context: ChannelHandlerContext) {
        self.unsent -= 1
        guard self.unsent == 0, let end else { return }
        self.end = nil
        context.close(mode: end.mode, promise: end.promise)
    }
}
