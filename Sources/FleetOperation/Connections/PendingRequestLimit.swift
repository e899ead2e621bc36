// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import NIOCore
package import NIOHTTPTypes

/// Turns away requests for which there is no place, before anything is made of them.
///
/// To read a request, find its route and its sender and to refuse it then costs a good part of what an answer costs; a
/// server that is asked for several times what it can do would spend its time on that.
///
/// A place is asked for at the head, and again when the request is there as a whole: many may have come in between. What
/// came of it until then is held here, as whatever is behind begins to work at the head.
package final class PendingRequestLimit: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPRequestPart
    package typealias InboundOut = HTTPRequestPart
    package typealias OutboundIn = HTTPResponsePart
    package typealias OutboundOut = HTTPResponsePart

    /// What is limited, and what others hear.
    package struct Rule: Sendable {
        package let pending: PendingRequests
        package let applies: @Sendable (HTTPRequest) -> Bool
        package let refuse: @Sendable (HTTPRequest) -> (head: HTTPResponse, body: ByteBuffer)

        /// Describes a limit.
        ///
        /// - Parameters:
        ///   - pending: Counts the requests.
        ///   - applies: Which requests count; the others always pass.
        ///   - refuse: The answer to a request for which there is no place. It is called for each of them.
        package init(
            pending: PendingRequests, applies: @escaping @Sendable (HTTPRequest) -> Bool,
            refuse: @escaping @Sendable (HTTPRequest) -> (head: HTTPResponse, body: ByteBuffer)
        ) {
            self.pending = pending
            self.applies = applies
            self.refuse = refuse
        }
    }

    private enum Request {
        case counted
        case uncounted
    }

    /// The most of a body that is held; a longer one has its place from then on, and is read by whoever takes it.
    private static let heldBytes = 16 * 1024

    private let rule: Rule
    /// The requests behind this that have no answer, oldest first: more than one only where a client does not wait for
    /// answers.
    private var requests: [Request] = []
    /// The request that is still read, and not worked on, so that a slow sender keeps no place from others.
    private var arriving: (head: HTTPRequest, body: ByteBuffer)?
    /// Whether the connection was told to end while a request was read, of which nobody behind this knows.
    private var isToEnd = false
    private var isTurningAway = false
    /// The request that found no place behind others; turned away when those are answered, it ends the connection.
    private var last: HTTPRequest?

    /// Sets the limit for one connection, or one stream of it.
    package init(_ rule: Rule) {
        self.rule = rule
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.letGo()
    }

    package func channelInactive(context: ChannelHandlerContext) {
        self.letGo()
        context.fireChannelInactive()
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard self.arriving != nil, event is ChannelShouldQuiesceEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        self.isToEnd = true
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard self.last == nil else { return }
        switch self.unwrapInboundIn(data) {
        case .head(let request):
            guard self.rule.applies(request) else {
                self.requests.append(.uncounted)
                break
            }
            if self.rule.pending.hasPlace(at: context.eventLoop.now) {
                self.arriving = (request, ByteBuffer())
            } else {
                self.isTurningAway = true
                self.refuse(request, context)
            }
            return
        case .body(var bytes):
            guard !self.isTurningAway else { return }
            guard self.arriving != nil else { break }
            self.arriving?.body.writeBuffer(&bytes)
            if let held = self.arriving?.body.readableBytes, held > Self.heldBytes {
                self.isTurningAway = !self.letIn(context)
            }
            return
        case .end:
            guard !self.isTurningAway else {
                self.isTurningAway = false
                return
            }
            guard self.letIn(context) else { return }
        }
        context.fireChannelRead(data)
    }

    /// Lets the request that is held through, if there is one, or turns it away.
    ///
    /// - Parameter context: The connection.
    /// - Returns: Whether what follows of the request is let through too.
    private func letIn(_ context: ChannelHandlerContext) -> Bool {
        guard let (head, body) = self.arriving else { return true }
        self.arriving = nil
        let hasPlace = self.rule.pending.hasPlace(at: context.eventLoop.now)
        if hasPlace {
            self.rule.pending.begin()
            self.requests.append(.counted)
            context.fireChannelRead(self.wrapInboundOut(.head(head)))
            if body.readableBytes > 0 { context.fireChannelRead(self.wrapInboundOut(.body(body))) }
        } else {
            self.refuse(head, context)
        }
        if self.isToEnd {
            self.isToEnd = false
            context.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
        return hasPlace
    }

    /// Turns a request away in its turn.
    private func refuse(_ request: HTTPRequest, _ context: ChannelHandlerContext) {
        if self.requests.isEmpty {
            self.turnAway(request, context)
        } else {
            // Answers go out in order. What comes behind it goes nowhere: refusals in wait would take memory.
            self.last = request
        }
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        context.write(data, promise: promise)
        guard case .end = self.unwrapOutboundIn(data), !self.requests.isEmpty else { return }
        if self.requests.removeFirst() == .counted { self.rule.pending.end() }
        if self.requests.isEmpty, let last = self.last { self.turnAway(last, context) }
    }

    private func turnAway(_ request: HTTPRequest, _ context: ChannelHandlerContext) {
        let isLast = self.last != nil || request.headerFields[.connection]?.lowercased() == "close"
        var answer = self.rule.refuse(request)
        if isLast { answer.head.headerFields[.connection] = "close" }
        context.write(self.wrapOutboundOut(.head(answer.head)), promise: nil)
        if request.method != .head { context.write(self.wrapOutboundOut(.body(answer.body)), promise: nil) }
        let written = context.writeAndFlush(self.wrapOutboundOut(.end(nil)))
        guard isLast else { return }
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        written.whenComplete { _ in bound.value.close(promise: nil) }
    }

    private func letGo() {
        for request in self.requests where request == .counted { self.rule.pending.end() }
        self.requests = []
        self.arriving = nil
    }
}
