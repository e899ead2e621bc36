// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTPTypes

/// Lets no connection, or stream of HTTP/2, end before the answers that were given on it have left.
///
/// Whoever closes a channel gives up what waits to be sent. Of a long answer to a client that reads slowly, the rest would
/// be lost when the server ends, when the connection was idle for too long, or when the client has said that it sends
/// nothing more. While the end waits, nothing else is read or answered. ``AnswerTimeLimit``, which stands nearer to the
/// network, ends it for clients that read nothing; it is told of each part that leaves, of which a long answer has many.
final class WholeAnswers: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// The most bytes of a part.
    static let partBytes = 64 * 1024

    private let limit: AnswerTimeLimit
    /// How many answers are written, of which something waits to be sent.
    private var unsent = 0
    /// How the channel ends when they have left.
    private var end: (mode: CloseMode, promise: EventLoopPromise<Void>?)?

    /// Makes a handler for one connection, or one stream of it.
    ///
    /// - Parameter limit: Ends the same connection for clients that do not read.
    init(_ limit: AnswerTimeLimit) {
        self.limit = limit
    }

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
        switch self.unwrapOutboundIn(data) {
        case .head: context.write(data, promise: promise)
        case .body(var body):
            while body.readableBytes > Self.partBytes, let part = body.readSlice(length: Self.partBytes) {
                self.write(.body(part), context)
            }
            context.write(self.wrapOutboundOut(.body(body)), promise: promise)
        case .end(let trailers):
            self.unsent += 1
            self.write(.end(trailers), context, promise)
        }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode != .input, self.unsent > 0 else { return context.close(mode: mode, promise: promise) }
        guard let end else {
            self.end = (mode, promise)
            self.limit.willEnd()
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

    /// Writes a part, and hears when it has left, or cannot.
    private func write(
        _ part: HTTPResponsePart, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>? = nil
    ) {
        let gone = promise ?? context.eventLoop.makePromise()
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let isEnd = if case .end = part { true } else { false }
        gone.futureResult.whenComplete { _ in
            let (handler, context) = bound.value
            handler.limit.somethingLeft()
            if isEnd { handler.answerLeft(context) }
        }
        context.write(self.wrapOutboundOut(part), promise: gone)
    }
}
