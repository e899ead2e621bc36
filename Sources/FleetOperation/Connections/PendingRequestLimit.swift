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
        /// Still read, and not worked on, so that a slow sender keeps no place from others.
        case arriving
        case counted
        case uncounted
    }

    private let rule: Rule
    /// The requests without an answer, oldest first: more than one only where a client does not wait for answers.
    private var requests: [Request] = []
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

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard self.last == nil else { return }
        switch self.unwrapInboundIn(data) {
        case .head(let request):
            if !self.rule.applies(request) {
                self.requests.append(.uncounted)
            } else if self.rule.pending.hasPlace(at: context.eventLoop.now) {
                self.requests.append(.arriving)
            } else if self.requests.isEmpty {
                self.isTurningAway = true
                self.turnAway(request, context)
            } else {
                // Answers go out in order. What comes behind it goes nowhere: refusals in wait would take memory.
                self.last = request
                return
            }
        case .body: break
        case .end:
            if let last = self.requests.indices.last, self.requests[last] == .arriving {
                self.requests[last] = .counted
                self.rule.pending.begin()
            }
            if self.isTurningAway {
                self.isTurningAway = false
                return
            }
        }
        if !self.isTurningAway { context.fireChannelRead(data) }
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
    }
}
