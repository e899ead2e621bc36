// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP2
import NIOTLS

/// Ends an HTTP/2 connection on which no stream is open for too long, and each one when the server ends: at once where
/// no stream is open, otherwise after the last one or when the time is up.
///
/// Without it, both ends wait for the client to answer a PING, which one that is idle may never read. The last GOAWAY
/// tells which streams were worked on, so a client can send the others again elsewhere (RFC 9113 §6.8). Where the client
/// answers, what ends the connection does so while it writes the last answer, of which TLS then sends what was flushed.
final class HTTP2Drain: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    private let limit: TimeAmount
    private var context: ChannelHandlerContext?
    private var isHTTP2: Bool?
    private var openStreams = 0
    private var lastStream = HTTP2StreamID.rootStream
    private var isDraining = false
    private var isClosed = false
    private var deadline: Scheduled<Void>?
    private let idleLimit: TimeAmount
    private var idleDeadline: Scheduled<Void>?

    /// Makes a handler for one connection.
    ///
    /// - Parameters:
    ///   - limit: How long streams that are open may take when the server ends.
    ///   - idleLimit: How long there may be no stream.
    init(limit: TimeAmount, idleLimit: TimeAmount) {
        self.limit = limit
        self.idleLimit = idleLimit
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted(let name) = event {
            self.isHTTP2 = name == "h2"
            if name == "h2" { self.waitForStream(context) }
        }
        // First: HTTP/2 says that the end is near, HTTP/1.1 ends when it has answered.
        context.fireUserInboundEventTriggered(event)
        if event is ChannelShouldQuiesceEvent { self.drain(context) }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode == .all, self.isHTTP2 == true, !self.isClosed {
            self.isClosed = true
            context.flush()
        }
        context.close(mode: mode, promise: promise)
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        self.deadline.cancelOnce()
        self.idleDeadline.cancelOnce()
    }

    fileprivate func streamOpened(_ id: HTTP2StreamID) {
        self.openStreams += 1
        self.idleDeadline.cancelOnce()
        self.lastStream = max(self.lastStream, id)
    }

    fileprivate func streamClosed() {
        self.openStreams -= 1
        guard self.openStreams == 0, let context else { return }
        if self.isDraining { self.end(context) } else { self.waitForStream(context) }
    }

    private func waitForStream(_ context: ChannelHandlerContext) {
        let channel = context.channel
        self.idleDeadline = context.eventLoop.scheduleTask(in: self.idleLimit) { channel.close(promise: nil) }
    }

    private func drain(_ context: ChannelHandlerContext) {
        guard let isHTTP2 else {
            // Nothing was asked before TLS was there.
            context.close(promise: nil)
            return
        }
        guard isHTTP2, !self.isDraining else { return }
        self.isDraining = true
        guard self.openStreams > 0 else { return self.end(context) }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        self.deadline = context.eventLoop.scheduleTask(in: self.limit) {
            let (handler, context) = bound.value
            handler.end(context)
        }
    }

    private func end(_ context: ChannelHandlerContext) {
        self.deadline.cancelOnce()
        let channel = context.channel
        let farewell = HTTP2Frame(
            streamID: .rootStream,
            payload: .goAway(lastStreamID: self.lastStream, errorCode: .noError, opaqueData: nil))
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        // A stream may be in the midst of its own end, whose frames go first.
        context.eventLoop.execute {
            // Behind the end of TLS a write is an error, which would cut off what is still on its way.
            guard !bound.value.isClosed else { return }
            channel.writeAndFlush(farewell, promise: nil)
            channel.close(promise: nil)
        }
    }
}

/// Tells the connection of an HTTP/2 stream when the stream opens and ends; does nothing on a connection of HTTP/1.1.
final class HTTP2StreamReporter: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

    private var connection: HTTP2Drain?

    func handlerAdded(context: ChannelHandlerContext) {
        // A stream runs on its connection's loop; the parent of a whole connection is what listens.
        guard let parent = context.channel.parent, parent.eventLoop === context.eventLoop,
            let connection = try? parent.pipeline.syncOperations.handler(type: HTTP2Drain.self),
            let id = try? context.channel.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID)
        else { return }
        self.connection = connection
        connection.streamOpened(id)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.connection?.streamClosed()
        self.connection = nil
    }
}
