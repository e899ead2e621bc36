// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
package import NIOCore
package import NIOHTTPTypes

/// Ends a connection, or a stream of HTTP/2, that takes too long to send its first head, or any request to its end.
///
/// A request that was begun is answered with 408, unless its answer has begun. Between requests the idle time counts,
/// which is another handler's affair. While earlier requests of the connection wait for their answers nothing counts: the
/// server itself may read no further then. It stands behind the decoder, so bytes that trickle in before a head is whole
/// do not prolong anything.
package final class RequestTimeLimit: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPRequestPart
    package typealias InboundOut = HTTPRequestPart
    package typealias OutboundIn = HTTPResponsePart
    package typealias OutboundOut = HTTPResponsePart

    private let limit: TimeAmount
    /// When what is waited for must be there.
    private lazy var deadline = MovingDeadline { [weak self] context in self?.end(context) }
    private var isReading = false
    /// How many requests, of those whose heads were read, have no answer that has ended.
    private var unanswered = 0
    private var isAnswering = false

    /// Sets the limit.
    package init(_ limit: Duration) {
        self.limit = TimeAmount(limit)
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        self.start(context)
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.deadline.cancel()
    }

    package func channelInactive(context: ChannelHandlerContext) {
        self.deadline.cancel()
        context.fireChannelInactive()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head:
            self.isReading = true
            self.unanswered += 1
            if self.unanswered == 1 { self.start(context) } else { self.deadline.time = nil }
        case .body: break
        case .end:
            self.isReading = false
            self.deadline.time = nil
        }
        context.fireChannelRead(data)
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch self.unwrapOutboundIn(data) {
        // Leave to send the body is no answer.
        case .head(let answer): self.isAnswering = answer.status.kind != .informational
        case .body: break
        case .end:
            self.isAnswering = false
            self.unanswered -= 1
            if self.isReading, self.unanswered == 1 { self.start(context) }
        }
        context.write(data, promise: promise)
    }

    private func start(_ context: ChannelHandlerContext) {
        self.deadline.time = context.eventLoop.now + self.limit
        self.deadline.watch(context)
    }

    private func end(_ context: ChannelHandlerContext) {
        if self.isReading, self.unanswered == 1, !self.isAnswering {
            let head = HTTPResponse(status: .requestTimeout, headerFields: [.contentLength: "0"])
            context.write(self.wrapOutboundOut(.head(head)), promise: nil)
            context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
        }
        context.close(promise: nil)
    }
}
