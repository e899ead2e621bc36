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
    private let successor: @Sendable (_ protocol: String?) -> (any ChannelHandler)?
    private var deadline: Scheduled<Void>?

    /// Sets the limit.
    ///
    /// - Parameters:
    ///   - limit: How long a handshake may take.
    ///   - successor: What stands in this one's place once the client has chosen a protocol, if anything.
    package init(
        _ limit: Duration, successor: @escaping @Sendable (_ protocol: String?) -> (any ChannelHandler)? = { _ in nil }
    ) {
        self.limit = TimeAmount(limit)
        self.successor = successor
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
        guard case .handshakeCompleted(let chosen)? = event as? TLSUserEvent else { return }
        self.deadline.cancelOnce()
        if let successor = self.successor(chosen) {
            try? context.pipeline.syncOperations.addHandler(successor, position: .after(self))
        }
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }
}
