// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Ends a connection, or a stream of HTTP/2, that is still open a while after the server was told to end.
package final class DrainLimit: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = Any

    private let limit: TimeAmount
    private var alarm: Scheduled<Void>?

    /// Sets the limit: for how long the connection may go on.
    package init(_ limit: Duration) {
        self.limit = TimeAmount(limit)
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent, self.alarm == nil {
            let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
            self.alarm = context.eventLoop.scheduleTask(in: self.limit) { bound.value.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        self.alarm.cancelOnce()
        context.fireChannelInactive()
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.alarm.cancelOnce()
    }
}
