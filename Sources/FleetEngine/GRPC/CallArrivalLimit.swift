// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetTokens
import GRPCCore
import GzipCoding
import NIOCore
import NIOHPACK
import NIOHTTP2

/// Ends a gRPC call whose request takes too long to arrive, with `DEADLINE_EXCEEDED`; the answer is not counted.
///
/// It keeps from the library what that would keep for ever, wait for without end, or stop the process at:
///
/// - A message that is longer than its method takes; the call ends with `RESOURCE_EXHAUSTED`. So does one that needs no
///   token, to health or reflection, once it sends far more than these take, as ``StrangerLimit`` does not count it.
/// - What comes behind the one message of any other call. No more is handed on than that there is something, for which the
///   call is refused like one that cannot be read.
/// - The last bytes of a compressed message that does not end as it should: the library would look for its end for ever,
///   and no other call of the connection's thread would go on.
/// - What is sent to a method that there is none of.
/// - The end in a head, which is handed on behind it, in data: elsewhere the library does not see it.
/// - A deadline that is none in gRPC's form, which is left out.
///
/// A call to reflection, of which few have a place, ends at the limit with its answers: a client that takes none would
/// keep the place. It stands at the network's end of a stream's handlers.
final class CallArrivalLimit: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    /// How many bytes a call that needs no token may send until something is answered, before they were compressed.
    static let maximumBytesWithoutToken = 4096

    private let limit: Duration
    private var needsToken = true
    /// Whether there is such a method.
    private var isKnown = true
    /// Whether the limit is for the whole call.
    private var boundsAnswer = false
    /// Measures the message that is arriving: the only one of a call that needs a token.
    private var meter = MessageMeter(limit: maximumBytesWithoutToken, coding: nil)
    private var unanswered = 0
    private var isRefused = false
    /// Whether what arrives is left out, as the request was ended behind its message.
    private var hasEndedRequest = false
    private var deadline: Scheduled<Void>?
    private var isAnswering = false

    /// Sets the limit.
    init(_ limit: Duration) {
        self.limit = limit
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.schedule(
            in: TimeAmount(self.limit), context,
            RPCError(
                code: .deadlineExceeded,
                message: "The request took longer than \(self.limit.components.seconds) s; send it faster."))
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.deadline.cancelOnce()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.deadline.cancelOnce()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.isRefused else { return }
        guard !self.hasEndedRequest else { return self.leaveOut(data, context) }
        switch self.unwrapInboundIn(data) {
        case .headers(var headers):
            if let path = headers.headers.first(name: ":path").map({ String($0.dropFirst()) }) {
                let method = FleetMethod(rawValue: path)
                self.needsToken = method != nil
                self.isKnown = method != nil || Self.withoutToken.contains(path)
                self.meter = MessageMeter(
                    limit: method?.maximumRequestBytes ?? Self.maximumBytesWithoutToken,
                    coding: headers.headers[canonicalForm: "grpc-encoding"].first.flatMap(InflatedLength.Coding.init))
                self.boundsAnswer =
                    method == nil && ReflectionRPCs.methods.contains { $0.fullyQualifiedMethod == path }
            }
            if !headers.headers["grpc-timeout"].allSatisfy(Self.isTimeout) {
                headers.headers.remove(name: "grpc-timeout")
            }
            let isEnd = headers.endStream
            headers.endStream = false
            context.fireChannelRead(self.wrapInboundOut(.headers(headers)))
            guard isEnd else { return }
            self.endRequest()
            context.fireChannelRead(self.wrapInboundOut(.data(.init(data: .byteBuffer(ByteBuffer()), endStream: true))))
            return
        case .data(let data):
            if data.endStream { self.endRequest() }
            switch self.look(at: data.data) {
            case .fits: break
            case .isRefused(let reason):
                self.isRefused = true
                self.deadline.cancelOnce()
                // Not within the read, whose connection may hold more for other streams.
                self.schedule(in: .zero, context, reason)
                return
            case .goesOn(let request):
                self.hasEndedRequest = true
                context.fireChannelRead(
                    self.wrapInboundOut(.data(.init(data: .byteBuffer(request), endStream: true))))
                return
            }
        default: break
        }
        context.fireChannelRead(data)
    }

    /// The full names of the methods of health and reflection.
    private static let withoutToken = Set(
        (Grpc_Health_V1_Health.Method.descriptors + ReflectionRPCs.methods).map(\.fullyQualifiedMethod))

    /// Takes note that all of the request is there.
    private func endRequest() {
        if !self.boundsAnswer { self.deadline.cancelOnce() }
    }

    /// What is to become of bytes that arrived.
    private enum Finding {
        case fits
        case isRefused(RPCError)
        /// The call does not carry one message that can be read; what to hand on in place of all that is left of it.
        case goesOn(ByteBuffer)
    }

    private func look(at data: IOData) -> Finding {
        // The library says that there is no such method.
        guard self.isKnown else { return .goesOn(ByteBuffer()) }
        // What arrives is no file of this machine's, which is the other thing that may be sent.
        guard case .byteBuffer(var bytes) = data else { return .fits }
        if self.needsToken {
            var request = bytes
            guard self.meter.take(&bytes) else {
                return .isRefused(
                    RPCError(
                        GRPCAdapter.status(
                            of: EngineError(
                                code: .resourceExhausted, reason: EngineError.tooLarge,
                                message: "The request is longer than \(self.meter.limit) bytes; send less at once."))))
            }
            // The library refuses the call as for any message that is cut off.
            guard !self.meter.isUnreadable else { return .goesOn(ByteBuffer()) }
            guard bytes.readableBytes > 0 else { return .fits }
            // An empty message, for which the library refuses the call as for any second one, and keeps nothing.
            request.moveWriterIndex(to: bytes.readerIndex)
            request.writeRepeatingByte(0, count: MessageMeter.headBytes)
            return .goesOn(request)
        }
        while bytes.readableBytes > 0 {
            let before = self.meter.count
            let isShort = self.meter.take(&bytes)
            self.unanswered += self.meter.count - before
            let limit = Self.maximumBytesWithoutToken
            guard isShort, self.unanswered <= limit else {
                return .isRefused(
                    RPCError(
                        code: .resourceExhausted,
                        message: "This method takes \(limit) bytes at most before it answers; send less."))
            }
            guard !self.meter.isUnreadable else {
                return .isRefused(
                    RPCError(
                        code: .internalError,
                        message: "The message says it is compressed, and is not, in full, what grpc-encoding names."))
            }
            if self.meter.isWhole { self.meter = MessageMeter(limit: limit, coding: self.meter.coding) }
        }
        return .fits
    }

    /// Leaves out what arrives behind the request's end, but for what ends the call.
    private func leaveOut(_ data: NIOAny, _ context: ChannelHandlerContext) {
        switch self.unwrapInboundIn(data) {
        case .headers(let headers): if headers.endStream { self.endRequest() }
        case .data(let data): if data.endStream { self.endRequest() }
        default: context.fireChannelRead(data)
        }
    }

    /// Keeps the server's end from the calls at work.
    ///
    /// The library would tell them to stop, as if their clients had gone. Watchers of health, who need no token, are told.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent, self.needsToken { return }
        context.fireUserInboundEventTriggered(event)
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
        self.unanswered = 0
        context.write(data, promise: promise)
    }

    private func schedule(in time: TimeAmount, _ context: ChannelHandlerContext, _ error: RPCError) {
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        self.deadline = context.eventLoop.scheduleTask(in: time) {
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
