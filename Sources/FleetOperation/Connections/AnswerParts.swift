// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTPTypes

/// Writes a long body in parts of 64 KiB, so that ``UnreadLimit`` sees a client that reads slowly take something of it.
final class AnswerParts: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// The most bytes of a part.
    static let partBytes = 64 * 1024

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .body(var body) = self.unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
        while body.readableBytes > Self.partBytes, let part = body.readSlice(length: Self.partBytes) {
            context.write(self.wrapOutboundOut(.body(part)), promise: nil)
        }
        context.write(self.wrapOutboundOut(.body(body)), promise: promise)
    }
}
