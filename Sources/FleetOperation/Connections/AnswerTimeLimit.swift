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
    private var context: ChannelHandlerContext?
    /// When something of what waits to be sent left last, or began to wait; `nil` while more may be written.
    private var unreadSince: NIODeadline?
    /// Whether the connection ends as soon as nothing waits.
    private var isEnding = false
    /// Goes off when nothing may have left since then, or before that: it is not set anew for all that leaves.
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

    package func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        if !context.channel.isWritable { self.wait() } else if !self.isEnding { self.unreadSince = nil }
        context.fireChannelWritabilityChanged()
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent, self.drainAlarm == nil {
            self.drainAlarm = self.schedule(at: context.eventLoop.now + self.drain) { $0.context?.close(promise: nil) }
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
        guard self.unreadSince != nil, let context else { return }
        self.unreadSince = context.eventLoop.now
    }

    private func wait() {
        guard let context else { return }
        self.unreadSince = context.eventLoop.now
        if self.unreadAlarm == nil { self.look() }
    }

    /// Ends the connection if nothing has left for too long, and looks again when that may be.
    private func look() {
        self.unreadAlarm = nil
        guard let unreadSince, let context else { return }
        let deadline = unreadSince + self.unread
        guard context.eventLoop.now < deadline else { return context.close(promise: nil) }
        self.unreadAlarm = self.schedule(at: deadline) { $0.look() }
    }

    private func schedule(at time: NIODeadline, _ body: @escaping (AnswerTimeLimit) -> Void) -> Scheduled<Void>? {
        guard let context else { return nil }
        let bound = NIOLoopBound((self, body), eventLoop: context.eventLoop)
        return context.eventLoop.scheduleTask(deadline: time) {
            let (handler, body) = bound.value
            body(handler)
        }
    }

    private func cancel() {
        self.unreadAlarm.cancelOnce()
        self.drainAlarm.cancelOnce()
    }
}
