// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import GRPCCore
import GzipCoding
import NIOCore
import NIOHPACK
import NIOHTTP2

/// The request of a gRPC call as its frames arrive, and what the library gets to see of it.
///
/// It keeps from the library what that would keep for ever, wait for without end, or stop the process at:
///
/// - A message that is longer than its method takes; the call is refused with `RESOURCE_EXHAUSTED`. So is one that needs no
///   token, to health or reflection, once it sends far more than these take, as ``StrangerLimit`` does not count it.
/// - What comes behind the one message of any other call. No more is handed on than that there is something, for which the
///   call is refused like one that cannot be read.
/// - The last bytes of a compressed message that does not end as it should: the library would look for its end for ever,
///   and no other call of the connection's thread would go on.
/// - What is sent to a method that there is none of.
/// - The end in a head, which is handed on behind it, in data: elsewhere the library does not see it.
/// - A deadline that is none in gRPC's form, which is left out.
struct ArrivingRequest {
    /// How many bytes a call that needs no token may send until something is answered, before they were compressed.
    static let maximumBytesWithoutToken = 4096

    /// What becomes of the frames that are still to come.
    private enum Rest {
        case isLookedAt
        /// The library has been told that the request is over; what ends the call goes on.
        case isLeftOut
        case isRefused
    }

    /// `nil` before the head.
    private var method: CalledMethod?
    /// Measures the message that is arriving.
    private var meter = MessageMeter(limit: maximumBytesWithoutToken, coding: nil)
    /// What a call without a token has sent since something was answered.
    private var unanswered = 0
    private var rest = Rest.isLookedAt
    private var hasEnded = false

    /// Whether the call is one that needs a token, which it may be before its head.
    var needsToken: Bool {
        switch self.method {
        case .api, nil: true
        case .health, .reflection, .unknown: false
        }
    }

    /// Whether the call's time counts, as it does until its request is there.
    ///
    /// That of a call to reflection, of which few have a place, counts to its end: a client that takes no answers would
    /// keep the place.
    var isTimed: Bool {
        if case .reflection = self.method { true } else { !self.hasEnded }
    }

    /// Hears that something is answered.
    mutating func answered() { self.unanswered = 0 }

    /// Takes the next frame that has arrived.
    ///
    /// - Returns: What is handed on to the library.
    /// - Throws: What the call is refused with; nothing of it is handed on any more.
    mutating func take(_ frame: HTTP2Frame.FramePayload) throws(RPCError) -> [HTTP2Frame.FramePayload] {
        switch (self.rest, frame) {
        case (.isRefused, _): return []
        case (.isLeftOut, .headers(let head)):
            self.hasEnded = head.endStream
            return []
        case (.isLeftOut, .data(let data)):
            self.hasEnded = data.endStream
            return []
        case (.isLookedAt, .headers(let head)): return self.take(head)
        case (.isLookedAt, .data(let data)):
            let last: ByteBuffer?
            do throws(RPCError) {
                last = try self.lookAt(data.data)
            } catch {
                self.rest = .isRefused
                throw error
            }
            self.hasEnded = data.endStream
            guard let last else { return [frame] }
            self.rest = .isLeftOut
            return [Self.end(last)]
        default: return [frame]
        }
    }

    /// The end of a request, with its last bytes.
    private static func end(_ bytes: ByteBuffer = ByteBuffer()) -> HTTP2Frame.FramePayload {
        .data(.init(data: .byteBuffer(bytes), endStream: true))
    }

    private mutating func take(_ head: HTTP2Frame.FramePayload.Headers) -> [HTTP2Frame.FramePayload] {
        if self.method == nil {
            let method = CalledMethod(path: head.headers.first(name: ":path") ?? "")
            self.method = method
            self.meter = MessageMeter(
                limit: method.maximumBytes,
                coding: head.headers[canonicalForm: "grpc-encoding"].first.flatMap(InflatedLength.Coding.init))
        }
        self.hasEnded = head.endStream
        var handedOn = head
        if !head.headers["grpc-timeout"].allSatisfy(Self.isTimeout) { handedOn.headers.remove(name: "grpc-timeout") }
        handedOn.endStream = false
        return head.endStream ? [.headers(handedOn), Self.end()] : [.headers(handedOn)]
    }

    /// Whether a text is a time as gRPC writes it: up to eight digits and a unit.
    private static func isTimeout(_ text: String) -> Bool {
        let digits = text.utf8.dropLast()
        return (1...8).contains(digits.count)
            && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            && "HMSmun".utf8.contains(text.utf8.last ?? 0)
    }

    /// Looks at the next bytes of a request.
    ///
    /// - Returns: What is handed on in place of them and of all that is left; `nil` where they are handed on as they are.
    /// - Throws: What the call is refused with.
    private mutating func lookAt(_ data: IOData) throws(RPCError) -> ByteBuffer? {
        // What arrives is no file of this machine's, which is the other thing that may be sent.
        guard case .byteBuffer(let bytes) = data else { return nil }
        switch self.method {
        case .api: return try self.lookAtMessage(bytes)
        case .health, .reflection:
            try self.lookAtQuestions(bytes)
            return nil
        // The library says that there is no such method.
        case .unknown, nil: return ByteBuffer()
        }
    }

    /// Looks at bytes of a call that has one message.
    private mutating func lookAtMessage(_ bytes: ByteBuffer) throws(RPCError) -> ByteBuffer? {
        var behind = bytes
        guard self.meter.take(&behind) else {
            throw RPCError(
                GRPCAdapter.status(
                    of: EngineError(
                        code: .resourceExhausted, reason: EngineError.tooLarge,
                        message: "The request is longer than \(self.meter.limit) bytes; send less at once.")))
        }
        // The library refuses the call as for any message that is cut off.
        guard !self.meter.isUnreadable else { return ByteBuffer() }
        guard behind.readableBytes > 0 else { return nil }
        // An empty message, for which the library refuses the call as for any second one, and keeps nothing.
        var last = bytes
        last.moveWriterIndex(to: behind.readerIndex)
        last.writeRepeatingByte(0, count: MessageMeter.headBytes)
        return last
    }

    /// Looks at bytes of a call that needs no token and may have any number of messages.
    private mutating func lookAtQuestions(_ bytes: ByteBuffer) throws(RPCError) {
        let limit = Self.maximumBytesWithoutToken
        var bytes = bytes
        while bytes.readableBytes > 0 {
            let before = self.meter.count
            let isShort = self.meter.take(&bytes)
            self.unanswered += self.meter.count - before
            guard isShort, self.unanswered <= limit else {
                throw RPCError(
                    code: .resourceExhausted,
                    message: "This method takes \(limit) bytes at most before it answers; send less.")
            }
            guard !self.meter.isUnreadable else {
                throw RPCError(
                    code: .internalError,
                    message: "The message says it is compressed, and is not, in full, what grpc-encoding names.")
            }
            if self.meter.isWhole { self.meter = MessageMeter(limit: limit, coding: self.meter.coding) }
        }
    }
}
