// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Ends a connection, or a stream of HTTP/2, whose client does not read what it is answered, and one that is still open a
/// while after the server was told to end.
///
/// Without it, whoever asks and reads nothing keeps the connection for ever: an idle time counts between requests, not
/// while an answer is on its way. A client that reads slowly is left alone, as some of what waits to be sent leaves.
package final class AnswerTimeLimit: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = Any

    private let unread: TimeAmount
    private let drain: TimeAmount
    private var unreadAlarm: Scheduled<Void>?
    private var drainAlarm: Scheduled<Void>?

    /// Sets the limits.
    ///
    /// - Parameters:
    ///   - unread: For how long nothing of what waits to be sent may leave.
    ///   - drain: For how long the connection may go on when the server ends.
    package init(unread: Duration, drain: Duration) {
        self.unread = TimeAmount(unread)
        self.drain = TimeAmount(drain)
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.unreadAlarm.cancelOnce()
        self.unreadAlarm = context.channel.isWritable ? nil : Self.close(context.channel, in: self.unread)
        context.fireChannelWritabilityChanged()
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent, self.drainAlarm == nil {
            self.drainAlarm = Self.close(context.channel, in: self.drain)
        }
        context.fireUserInboundEventTriggered(event)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        self.cancel()
        context.fireChannelInactive()
    }

    package func handlerRemoved(context: ChannelHandlerContext) { self.cancel() }

    private func cancel() {
        self.unreadAlarm.cancelOnce()
        self.drainAlarm.cancelOnce()
    }

    private static func close(_ channel: any Channel, in time: TimeAmount) -> Scheduled<Void> {
        channel.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
    }
}
