// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Lets clients send the bodies for which they wait for leave, with `100 Continue` (RFC 9110 §10.1.1).
///
/// It stands before the handler that turns requests away, which holds the others until they are whole, and waits until that
/// one has spoken, so none of these is invited first. A client that has begun to send needs no leave, and one that did not
/// wait for the answer to its last request waits for that.
final class ContinueAnswer: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// The requests whose answers have not ended.
    private var unanswered = 0
    /// Whether the client waits with the body of the last of them.
    private var isAwaited = false

    func handlerAdded(context: ChannelHandlerContext) {
        HTTP1Heads.add(to: context.pipeline)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let request):
            self.unanswered += 1
            self.isAwaited = request.headerFields[.expect]?.lowercased() == "100-continue"
        case .body, .end: self.isAwaited = false
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.answer(context)
        context.fireChannelReadComplete()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        context.write(data, promise: promise)
        guard case .end = self.unwrapOutboundIn(data) else { return }
        self.unanswered -= 1
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        // Not at the end of the answer before: a refusal may follow it.
        self.answer(context)
    }

    private func answer(_ context: ChannelHandlerContext) {
        guard self.isAwaited, self.unanswered == 1 else { return }
        self.isAwaited = false
        context.writeAndFlush(self.wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
    }
}
