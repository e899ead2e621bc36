// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import NIOCore
import NIOHTTP1

/// Says in the heads of requests and answers what follows from the version of HTTP/1, which the handlers behind are not
/// told.
///
/// Without `Connection: keep-alive` a connection of HTTP/1.0 ends with its answer (RFC 9112 §9.3), and it knows no interim
/// answers (RFC 9110 §15.2). It knows no chunks either: an answer whose length is not told ends with the connection
/// (RFC 9112 §6.1).
///
/// A request that leaves open for which host it is meant, or names none that can be, ends the connection with 400
/// (RFC 9112 §3.2): what stands behind decides by the host who may ask. A target in absolute form names it in place of
/// `Host` (RFC 9112 §3.2.2).
///
/// So does one with a transfer coding other than chunked, which nobody behind this takes off (RFC 9112 §6.1).
///
/// A head that is longer than the decoder reads ends the connection with 431 (RFC 6585 §5) and says so, as most often a
/// token is what is too long; how long one may be is for those behind to say, as each reads tokens of other kinds.
///
/// A connection ends with the answer to a request behind which nothing can be read: one that asks for another protocol,
/// which the decoder takes for granted, and one of HTTP/1.0 in chunks, which that does not know (RFC 9112 §6.1). What the
/// client sends behind it is not taken in. So it is with the last of many requests that are sent without waiting for
/// answers: the event loop works them all off before it looks at another connection.
///
/// When the server ends, the last answer says so (RFC 9112 §9.6). Of a connection without a request nobody behind hears
/// of the end for a second: what a client has sent meanwhile, or sends in it, is answered in place of being cut off.
final class HTTP1Heads: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private struct Asked {
        /// Whether it is of HTTP/1.0.
        let isOld: Bool
        /// Whether nothing can be read behind it.
        let isLast: Bool
    }

    /// The requests whose answers have not ended, the first of them first.
    private var asked = CircularBuffer<Asked>()
    /// Whether the request that is being read, or was, is the last that can be.
    private var isLastRequest = false
    /// Whether the connection ends with the answer that is being written.
    private var isLastAnswer = false
    private var readsNoMore = false
    /// Whether a head was too long, which is answered behind all other requests.
    private var isTooLong = false
    /// Whether the server ends.
    private var isEnding = false
    /// Whether those behind have not heard of it.
    private var isEndWithheld = false

    private static let patience = TimeAmount.seconds(1)
    /// How many requests of a connection may wait for their answers.
    static let mostUnanswered = 64
    /// What is said of a head that is too long, in the form of Google's APIs.
    private static let tooLong = JSONValue.object([
        "error": .object([
            "code": .integer(431), "status": .string("INVALID_ARGUMENT"),
            "message": .string(
                "The request's address and header fields are longer than limits.header_bytes, or more than "
                    + "limits.header_fields, allow; most often a token is what is too long."),
        ])
    ]).serialized

    /// Puts a handler behind the decoder of HTTP/1, where the connection has one; streams of HTTP/2 have none.
    static func add(to pipeline: ChannelPipeline) {
        let pipeline = pipeline.syncOperations
        guard let decoder = try? pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self) else { return }
        try? pipeline.addHandler(HTTP1Heads(), position: .after(decoder))
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.isEndWithheld = false }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is ChannelShouldQuiesceEvent, !self.isEnding else {
            return context.fireUserInboundEventTriggered(event)
        }
        self.isEnding = true
        self.isEndWithheld = true
        // A connection that is being opened must end at once: the server takes none any more, and nobody would serve it.
        guard self.asked.isEmpty, context.channel.isActive else { return self.tellOfEnd(context) }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: Self.patience) {
            let (handler, context) = bound.value
            handler.tellOfEnd(context)
        }
    }

    /// Lets those behind end the connection after the requests that they know, unless they have heard of it.
    private func tellOfEnd(_ context: ChannelHandlerContext) {
        guard self.isEndWithheld else { return }
        self.isEndWithheld = false
        context.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.readsNoMore else { return }
        guard case .head(var head) = self.unwrapInboundIn(data) else {
            if case .end = self.unwrapInboundIn(data) { self.readsNoMore = self.isLastRequest }
            return context.fireChannelRead(data)
        }
        // Whoever reads that an answer is the last one sends what is behind it elsewhere.
        self.readsNoMore = self.isLastAnswer
        guard !self.readsNoMore else { return }
        let isOld = (head.version.major, head.version.minor) < (1, 1)
        guard Self.isDecoded(head), self.settleHost(of: &head, isOld: isOld) else {
            // As behind what the decoder cannot read.
            self.readsNoMore = true
            return context.fireErrorCaught(HTTPParserError.invalidHeaderToken)
        }
        self.isLastRequest =
            head.asksForUpgrade || isOld && head.headers.contains(name: "Transfer-Encoding")
            || self.asked.count + 1 >= Self.mostUnanswered
        self.asked.append(Asked(isOld: isOld, isLast: self.isLastRequest))
        if self.isLastRequest || !head.isKeepAlive { head.headers.replaceOrAdd(name: "Connection", value: "close") }
        if isOld { head.headers.remove(name: "Expect") }
        context.fireChannelRead(self.wrapInboundOut(.head(head)))
        self.tellOfEnd(context)
    }

    func read(context: ChannelHandlerContext) {
        // The decoder would gather what comes for as long as the answer takes.
        if !self.isLastRequest || !self.readsNoMore { context.read() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error as? HTTPParserError == .headerOverflow { self.isTooLong = true }
        context.fireErrorCaught(error)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch self.unwrapOutboundIn(data) {
        case .head(var head) where self.isTooLong && self.asked.isEmpty:
            head.status = .requestHeaderFieldsTooLarge
            head.headers.replaceOrAdd(name: "Content-Type", value: "application/json; charset=utf-8")
            head.headers.replaceOrAdd(name: "Content-Length", value: "\(Self.tooLong.count)")
            context.write(self.wrapOutboundOut(.head(head)), promise: promise)
            context.write(self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: Self.tooLong)))), promise: nil)
        case .head(var head) where self.endsWithConnection(head) || self.isLast(head):
            self.isLastAnswer = true
            // The encoder cuts answers of HTTP/1.1 into chunks.
            if self.endsWithConnection(head) { head.version = .http1_0 }
            head.headers.replaceOrAdd(name: "Connection", value: "close")
            context.write(self.wrapOutboundOut(.head(head)), promise: promise)
        case .head, .body: context.write(data, promise: promise)
        case .end:
            _ = self.asked.popFirst()
            guard self.isLastAnswer else { return context.write(data, promise: promise) }
            let written = context.writeAndFlush(data)
            written.cascade(to: promise)
            let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
            written.whenComplete { _ in bound.value.close(promise: nil) }
        }
    }

    /// Whether nothing else tells a client of HTTP/1.0 where the answer ends.
    private func endsWithConnection(_ head: HTTPResponseHead) -> Bool {
        self.asked.first?.isOld == true && head.isWithoutLength
    }

    /// Whether nothing can be read behind the request, or the server ends and no other request waits for an answer.
    private func isLast(_ head: HTTPResponseHead) -> Bool {
        head.status.code >= 200 && (self.asked.first?.isLast == true || self.isEnding && self.asked.count == 1)
    }

    /// Whether the decoder takes off every coding of the body, as it does with chunks alone.
    private static func isDecoded(_ head: HTTPRequestHead) -> Bool {
        let codings = head.headers[canonicalForm: "Transfer-Encoding"].map { $0.lowercased() }
        return codings.isEmpty || codings == ["chunked"]
    }

    /// Lets `Host` name the host that the request is meant for; says whether there is one that can be.
    private func settleHost(of head: inout HTTPRequestHead, isOld: Bool) -> Bool {
        let hosts = head.headers["Host"]
        guard hosts.count == 1 || hosts.isEmpty && isOld else { return false }
        var host = Substring(hosts.first ?? "")
        // The decoder leaves out the blanks before a field's value only.
        while let last = host.last, " \t".contains(last) { host.removeLast() }
        guard Self.isHost(host) else { return false }
        if let authority = Self.authority(of: head.uri) {
            // The address of something on the web names its host (RFC 9110 §4.2.1).
            guard !authority.isEmpty, Self.isHost(authority) else { return false }
            host = authority
        }
        if host != hosts.first ?? "" { head.headers.replaceOrAdd(name: "Host", value: String(host)) }
        return true
    }

    /// Whether a text has the form of a host, which may be empty, and of a port (RFC 3986 §3.2.2, §3.2.3).
    private static func isHost(_ text: Substring) -> Bool {
        var port = text.utf8
        if port.first == UInt8(ascii: "[") {
            guard let end = port.firstIndex(of: UInt8(ascii: "]")) else { return false }
            let address = port[..<end].dropFirst()
            guard !address.isEmpty, address.allSatisfy({ $0.isOfHost || $0 == UInt8(ascii: ":") }) else { return false }
            port = port[end...].dropFirst()
        } else {
            let host = port.prefix { $0 != UInt8(ascii: ":") }
            guard host.allSatisfy(\.isOfHost), Self.isEncoded(host) else { return false }
            port = port[host.endIndex...]
        }
        return port.isEmpty || port.first == UInt8(ascii: ":") && port.dropFirst().allSatisfy(\.isDigit)
    }

    /// Whether two hexadecimal digits stand behind each percent sign.
    private static func isEncoded(_ host: Substring.UTF8View) -> Bool {
        host.split(separator: UInt8(ascii: "%"), omittingEmptySubsequences: false).dropFirst().allSatisfy {
            let digits = $0.prefix(2)
            return digits.count == 2 && digits.allSatisfy(\.isHexDigit)
        }
    }

    /// The host, and the port, that a target in absolute form names; `nil` for one in another form.
    private static func authority(of target: String) -> Substring? {
        guard !target.hasPrefix("/"), let scheme = target.firstRange(of: "://") else { return nil }
        let authority = target[scheme.upperBound...].prefix { !"/?#".contains($0) }
        return authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
    }
}

extension HTTPRequestHead {
    /// Whether the decoder takes what follows for another protocol's.
    fileprivate var asksForUpgrade: Bool {
        self.method == .CONNECT
            || self.headers.contains(name: "Upgrade")
                && self.headers["Connection"].contains { $0.lowercased().contains("upgrade") }
    }
}

extension HTTPResponseHead {
    /// Whether the length of the body that may follow is not told.
    fileprivate var isWithoutLength: Bool {
        self.status.mayHaveResponseBody && !self.headers.contains(name: "Content-Length")
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    fileprivate var isHexDigit: Bool { self.isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self | 0x20) }

    /// Whether a name of a host may have the character.
    fileprivate var isOfHost: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        default: self.isDigit || "-._~%!$&'()*+,;=".utf8.contains(self)
        }
    }
}
