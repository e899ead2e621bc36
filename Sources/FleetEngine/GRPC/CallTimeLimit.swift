// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import NIOCore
import NIOHPACK
import NIOHTTP2

/// Ends a gRPC call whose request takes too long to arrive, with `DEADLINE_EXCEEDED`; the answer is not counted.
///
/// Deadlines of clients that are none in gRPC's form are left out: the library stops the process at a negative one. It stands at the network's end of a stream's handlers.
final class CallTimeLimit: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private let limit: Duration
    private var deadline: Scheduled<Void>?
    private var isAnswering = false

    /// Sets the limit.
    init(_ limit: Duration) {
        self.limit = limit
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        self.deadline = context.eventLoop.scheduleTask(in: TimeAmount(self.limit)) {
            bound.value.handler.end(bound.value.context)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.deadline.cancelOnce()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.deadline.cancelOnce()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .headers(var headers):
            if headers.endStream { self.deadline.cancelOnce() }
            guard !headers.headers["grpc-timeout"].allSatisfy(Self.isTimeout) else { break }
            headers.headers.remove(name: "grpc-timeout")
            context.fireChannelRead(self.wrapInboundOut(.headers(headers)))
            return
        case .data(let data) where data.endStream: self.deadline.cancelOnce()
        default: break
        }
        context.fireChannelRead(data)
    }

    /// Whether a text is a time as gRPC writes it: up to eight digits and a unit.
    private static func isTimeout(_ text: String) -> Bool {
        let digits = text.utf8.dropLast()
        return (1...8).contains(digits.count)
            && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            && "HMSmun".utf8.contains(text.utf8.last ?? 0)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        self.isAnswering = true
        context.write(data, promise: promise)
    }

    private func end(_ context: ChannelHandlerContext) {
        if !self.isAnswering {
            let answer: HPACKHeaders = [
                ":status": "200", "content-type": "application/grpc", "grpc-status": "4",
                "grpc-message": "The request took longer than \(self.limit.components.seconds) s; send it faster.",
            ]
            context.writeAndFlush(
                self.wrapOutboundOut(.headers(.init(headers: answer, endStream: true))), promise: nil)
        }
        context.close(promise: nil)
    }
}
