// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import GRPCCore
import NIOCore
import NIOHPACK
import NIOHTTP2

/// Ends a gRPC call whose request takes too long to arrive, with `DEADLINE_EXCEEDED`, and refuses one that sends what the
/// library must not see, see ``ArrivingRequest``.
///
/// The answer is not counted, but for a call to reflection, which ends at the limit with its answers.
final class CallArrivalLimit: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private let limit: Duration
    private var request = ArrivingRequest()
    /// When the call is ended, for its time or for what it sends.
    private var ending: Scheduled<Void>?
    private var isAnswering = false

    /// Sets the limit.
    init(_ limit: Duration) {
        self.limit = limit
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.ending.cancelOnce()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.ending.cancelOnce()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        do throws(RPCError) {
            let frames = try self.request.take(self.unwrapInboundIn(data))
            if !self.request.isTimed { self.ending.cancelOnce() }
            for frame in frames { context.fireChannelRead(self.wrapInboundOut(frame)) }
        } catch {
            self.ending.cancelOnce()
            // Not within the read, whose connection may hold more for other streams.
            self.schedule(in: .zero, context, error)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // Most requests are there with the first read, and never need a timer.
        if self.ending == nil, self.request.isTimed {
            self.schedule(
                in: TimeAmount(self.limit), context,
                RPCError(
                    code: .deadlineExceeded,
                    message: "The request took longer than \(self.limit.components.seconds) s; send it faster."))
        }
        context.fireChannelReadComplete()
    }

    /// Keeps the server's end from the calls at work.
    ///
    /// The library would tell them to stop, as if their clients had gone. Watchers of health, who need no token, are told.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent, self.request.needsToken { return }
        context.fireUserInboundEventTriggered(event)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        self.isAnswering = true
        self.request.answered()
        context.write(data, promise: promise)
    }

    private func schedule(in time: TimeAmount, _ context: ChannelHandlerContext, _ error: RPCError) {
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        self.ending = context.eventLoop.scheduleTask(in: time) {
            bound.value.handler.end(bound.value.context, error)
        }
    }

    private func end(_ context: ChannelHandlerContext, _ error: RPCError) {
        if !self.isAnswering {
            var answer: HPACKHeaders = [
                ":status": "200", "content-type": "application/grpc", "grpc-status": "\(error.code.rawValue)",
                "grpc-message": error.message,
            ]
            for (name, value) in error.metadata { answer.add(name: name, value: value.encoded()) }
            context.write(self.wrapOutboundOut(.headers(.init(headers: answer, endStream: true))), promise: nil)
            // A close alone is a reset that says the call was cancelled, which clients may take for its outcome.
            context.writeAndFlush(self.wrapOutboundOut(.rstStream(.noError)), promise: nil)
        }
        context.close(promise: nil)
    }
}
