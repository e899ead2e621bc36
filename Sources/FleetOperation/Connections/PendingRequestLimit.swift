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
/// came of it until then is held here, as whatever is behind begins to work at the head. A request that comes before the
/// answers to others of its connection waits here for them, and is not read on: nobody works on it yet.
///
/// The place is given back with the answer or the connection's end, whichever is first, unless whoever works on the
/// request has taken it over from ``PendingRequests/takeOver(from:)``: work goes on for a sender who is gone.
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

    /// The most of a body that is held; a longer one has its place from then on, and is read by whoever takes it.
    private static let heldBytes = 16 * 1024

    private let rule: Rule
    /// How many requests behind this have no answer: more than one only where a client does not wait for answers.
    private var unanswered = 0
    /// The request that is still read, and not worked on, so that a slow sender keeps no place from others.
    private var arriving: (head: HTTPRequest, body: ByteBuffer)?
    /// Whether the connection was told to end while a request was read, or waited, of which nobody behind this knows.
    private var isToEnd = false
    private var isTurningAway = false
    /// What came with and behind a request that waits for the answers to those before it; `nil` while none waits.
    private var waiting: [Waiting]?
    /// Whether what waited is being told to those behind.
    private var isGoingOn = false
    private var isReadPending = false

    private enum Waiting {
        case part(HTTPRequestPart)
        case inputClosed
        case error(any Error)
    }

    /// Sets the limit for one connection, or one stream of it.
    package init(_ rule: Rule) {
        self.rule = rule
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.letGo(context)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        self.letGo(context)
        context.fireChannelInactive()
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ChannelShouldQuiesceEvent where self.arriving != nil || self.waiting != nil: self.isToEnd = true
        case ChannelEvent.inputClosed where self.waiting != nil: self.waiting?.append(.inputClosed)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // What cannot be read is behind what waits.
        guard self.waiting == nil else {
            self.waiting?.append(.error(error))
            return
        }
        context.fireErrorCaught(error)
    }

    package func read(context: ChannelHandlerContext) {
        if self.waiting == nil { context.read() } else { self.isReadPending = true }
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = self.unwrapInboundIn(data)
        guard self.waiting == nil else {
            self.waiting?.append(.part(part))
            return
        }
        switch part {
        case .head(let request):
            guard self.rule.applies(request) else {
                self.unanswered += 1
                break
            }
            guard self.unanswered == 0 else {
                self.waiting = [.part(part)]
                return
            }
            if self.rule.pending.hasPlace(at: context.eventLoop.now) {
                self.arriving = (request, ByteBuffer())
            } else {
                self.isTurningAway = true
                self.turnAway(request, context)
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
        let hasPlace = self.rule.pending.letIn(from: context.channel, at: context.eventLoop.now)
        if hasPlace {
            self.unanswered += 1
            context.fireChannelRead(self.wrapInboundOut(.head(head)))
            if body.readableBytes > 0 { context.fireChannelRead(self.wrapInboundOut(.body(body))) }
        } else {
            self.turnAway(head, context)
        }
        self.tellOfEnd(context)
        return hasPlace
    }

    /// Tells those behind that the connection is to end, once they know of all its requests.
    private func tellOfEnd(_ context: ChannelHandlerContext) {
        guard self.isToEnd, self.arriving == nil, self.waiting == nil, !self.isGoingOn else { return }
        self.isToEnd = false
        context.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        context.write(data, promise: promise)
        guard case .end = self.unwrapOutboundIn(data), self.unanswered > 0 else { return }
        self.rule.pending.giveBack(from: context.channel)
        self.unanswered -= 1
        if self.unanswered == 0 { self.goOn(context) }
    }

    /// Goes on with the request that waited for others' answers, and what came behind it.
    private func goOn(_ context: ChannelHandlerContext) {
        guard let events = self.waiting else { return }
        self.waiting = nil
        self.isGoingOn = true
        for event in events {
            switch event {
            case .part(let part): self.channelRead(context: context, data: self.wrapInboundOut(part))
            case .inputClosed: self.userInboundEventTriggered(context: context, event: ChannelEvent.inputClosed)
            case .error(let error): self.errorCaught(context: context, error: error)
            }
        }
        self.isGoingOn = false
        self.tellOfEnd(context)
        // Who is behind may work on nothing before it has heard that there is no more for now.
        context.fireChannelReadComplete()
        guard self.waiting == nil, self.isReadPending else { return }
        self.isReadPending = false
        context.read()
    }

    private func turnAway(_ request: HTTPRequest, _ context: ChannelHandlerContext) {
        let answer = self.rule.refuse(request)
        context.write(self.wrapOutboundOut(.head(answer.head)), promise: nil)
        if request.method != .head { context.write(self.wrapOutboundOut(.body(answer.body)), promise: nil) }
        let written = context.writeAndFlush(self.wrapOutboundOut(.end(nil)))
        guard request.headerFields[.connection]?.lowercased() == "close" else { return }
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        written.whenComplete { _ in bound.value.close(promise: nil) }
    }

    private func letGo(_ context: ChannelHandlerContext) {
        self.rule.pending.giveBack(from: context.channel)
        self.unanswered = 0
        self.arriving = nil
        self.waiting = nil
    }
}
