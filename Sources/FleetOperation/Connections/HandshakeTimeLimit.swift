// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import NIOCore
import NIOTLS

/// Closes a connection whose TLS handshake takes too long; it stands right behind the handler of TLS.
package final class HandshakeTimeLimit: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = Any
    package typealias InboundOut = Any

    private let limit: TimeAmount
    private var deadline: Scheduled<Void>?

    /// Sets the limit.
    package init(_ limit: Duration) {
        self.limit = TimeAmount(limit)
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        self.deadline = context.eventLoop.scheduleTask(in: self.limit) { channel.close(promise: nil) }
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.deadline.cancelOnce()
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        context.fireUserInboundEventTriggered(event)
        guard case .handshakeCompleted? = event as? TLSUserEvent else { return }
        self.deadline.cancelOnce()
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }
}
