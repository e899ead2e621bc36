// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

@testable import GoogleCredentials

/// A real HTTP server on this machine's loopback address, which answers as a stand-in does.
struct LoopbackServer: Sendable {
    let port: Int
    private let host: String
    private let scheme: String
    private let channel: any Channel

    var origin: String { "\(self.scheme)://\(self.host.contains(":") ? "[\(self.host)]" : self.host):\(self.port)" }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - standIn: What it answers.
    ///   - origin: The address that it stands for.
    ///   - length: What its answers promise to be, in bytes; those that are shorter never end.
    ///   - requests: How many requests of a connection it answers; it closes it when the next arrives.
    ///   - host: The address to listen on.
    ///   - tls: What it opens connections with; `nil` for plain HTTP.
    /// - Returns: The server, which listens.
    /// - Throws: Why it does not.
    static func start(
        _ standIn: StandIn, pretendingToBe origin: String, promising length: Int? = nil,
        answering requests: Int = .max, host: String = "127.0.0.1", tls: TLSConfiguration? = nil
    ) async throws -> Self {
        let context = try tls.map { try NIOSSLContext(configuration: $0) }
        let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let context {
                        try channel.pipeline.syncOperations.addHandlers(
                            OpenEnd(), NIOSSLServerHandler(context: context))
                    }
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(
                        Handler(standIn, origin, promised: length, left: requests))
                }
            }
            .bind(host: host, port: 0).get()
        return Self(
            port: channel.localAddress?.port ?? 0, host: host, scheme: tls == nil ? "http" : "https", channel: channel)
    }

    func stop() async throws { try await self.channel.close() }

    /// Leaves the end of a connection to the client, which could else find it reset before it reads the last alert.
    private final class OpenEnd: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            promise?.succeed()
        }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let standIn: StandIn
        private let origin: String
        private let promised: Int?
        private var left: Int
        private var request = UpstreamRequest(url: "")

        init(_ standIn: StandIn, _ origin: String, promised: Int?, left: Int) {
            self.standIn = standIn
            self.origin = origin
            self.promised = promised
            self.left = left
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch self.unwrapInboundIn(data) {
            case .head(let head):
                self.request = UpstreamRequest(
                    method: head.method.rawValue, url: self.origin + head.uri,
                    headers: head.headers.map { ($0.name, $0.value) }, body: [])
            case .body(let bytes): self.request.body? += Array(bytes.readableBytesView)
            case .end:
                guard self.left > 0 else { return context.close(promise: nil) }
                self.left -= 1
                let answer = context.eventLoop.makeFutureWithTask { [standIn, request] in
                    try await standIn.send(request)
                }
                let context = NIOLoopBound(context, eventLoop: context.eventLoop)
                let handler = NIOLoopBound(self, eventLoop: context.value.eventLoop)
                answer.whenComplete { result in
                    guard case .success(let response) = result else { return context.value.close(promise: nil) }
                    handler.value.write(response, to: context.value)
                }
            }
        }

        private func write(_ response: UpstreamResponse, to context: ChannelHandlerContext) {
            var headers = HTTPHeaders(response.headers.map { ($0.name, $0.value) })
            headers.replaceOrAdd(name: "content-length", value: String(self.promised ?? response.body.count))
            let head = HTTPResponseHead(
                version: .http1_1, status: HTTPResponseStatus(statusCode: response.status), headers: headers)
            context.write(self.wrapOutboundOut(.head(head)), promise: nil)
            context.write(self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: response.body)))), promise: nil)
            guard self.promised == nil else { return context.flush() }
            context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
