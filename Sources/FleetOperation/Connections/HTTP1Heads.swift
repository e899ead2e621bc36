// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1

/// Says in the heads of requests what follows from their version of HTTP/1, which the handlers behind are not told.
///
/// Without `Connection: keep-alive` a connection of HTTP/1.0 ends with its answer (RFC 9112 §9.3), and it knows no interim
/// answers (RFC 9110 §15.2).
final class HTTP1Heads: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    /// Puts a handler behind the decoder of HTTP/1, where the connection has one; streams of HTTP/2 have none.
    static func add(to pipeline: ChannelPipeline) {
        let pipeline = pipeline.syncOperations
        guard let decoder = try? pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self) else { return }
        try? pipeline.addHandler(HTTP1Heads(), position: .after(decoder))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = self.unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        if !head.isKeepAlive { head.headers.replaceOrAdd(name: "Connection", value: "close") }
        if (head.version.major, head.version.minor) < (1, 1) { head.headers.remove(name: "Expect") }
        context.fireChannelRead(self.wrapInboundOut(.head(head)))
    }
}
