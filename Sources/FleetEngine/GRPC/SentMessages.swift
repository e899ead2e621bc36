// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import NIOCore
import NIOHTTP2

/// Tells calls of a connection of gRPC how much of what they are answered goes out; it stands before the handlers of HTTP/2.
///
/// They tell a call that writes a message only when all of it has left, however many frames its client makes room for.
final class SentMessages: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var frames = HTTP2Frames(isClients: false)
    /// What hears of each call's bytes.
    private var hearers: [Int: (Int) -> Void] = [:]

    /// Lets a call hear, in the connection's event loop, of the bytes of each frame of its answers that goes out.
    ///
    /// - Parameters:
    ///   - call: The call's stream.
    ///   - sent: Hears.
    /// - Returns: What lets go of the call.
    func hear(of call: HTTP2StreamID, _ sent: @escaping (_ bytes: Int) -> Void) -> () -> Void {
        self.hearers[Int(call)] = sent
        return { self.hearers[Int(call)] = nil }
    }

    /// Lets a call hear in whose stream a handler stands; see ``UnreadLimit/Progress``.
    static func progress(of context: ChannelHandlerContext, _ sent: @escaping (_ bytes: Int) -> Void) -> () -> Void {
        guard let messages = try? context.channel.parent?.pipeline.syncOperations.handler(type: Self.self),
            let call = try? context.channel.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID)
        else { return {} }
        return messages.hear(of: call, sent)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        _ = self.unwrapOutboundIn(data).withUnsafeReadableBytes { bytes in
            self.frames.read(bytes) { frame in
                // DATA, of which messages are made.
                if frame.type == 0 { self.hearers[frame.stream]?(frame.length) }
            }
        }
        context.write(data, promise: promise)
    }
}
