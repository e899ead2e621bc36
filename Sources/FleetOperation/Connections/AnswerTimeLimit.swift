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
    /// When something of what waits to be sent must have left; counts while no more may be written.
    private let deadline = MovingDeadline()
    private var context: ChannelHandlerContext?
    /// Whether the connection ends as soon as nothing waits.
    private var isEnding = false
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

    package func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        if !context.channel.isWritable { self.wait() } else if !self.isEnding { self.deadline.time = nil }
        context.fireChannelWritabilityChanged()
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent, self.drainAlarm == nil {
            let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
            self.drainAlarm = context.eventLoop.scheduleTask(in: self.drain) {
                bound.value.context?.close(promise: nil)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        self.cancel()
        context.fireChannelInactive()
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.cancel()
        self.context = nil
    }

    /// Hears that the connection ends as soon as nothing waits to be sent.
    func willEnd() {
        self.isEnding = true
        self.wait()
    }

    /// Hears that something of what waited has left.
    func somethingLeft() {
        guard let context, self.deadline.time != nil else { return }
        self.deadline.time = context.eventLoop.now + self.unread
    }

    private func wait() {
        guard let context else { return }
        self.deadline.time = context.eventLoop.now + self.unread
        self.deadline.watch(context)
    }

    private func cancel() {
        self.deadline.cancel()
        self.drainAlarm.cancelOnce()
    }
}
