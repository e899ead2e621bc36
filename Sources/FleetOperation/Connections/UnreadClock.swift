// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Closes a connection, or a stream of HTTP/2, from which nothing of what waits to be sent leaves for too long.
///
/// It belongs to a handler, whose event loop it is used on.
package final class UnreadClock {
    private let limit: TimeAmount
    /// When something of what waits left last, or began to wait; `nil` while nothing waits.
    private var unreadSince: NIODeadline?
    /// Goes off when nothing may have left since then, or before that: it is not set anew for all that leaves.
    private var alarm: Scheduled<Void>?

    /// Sets for how long nothing may leave.
    package init(_ limit: Duration) {
        self.limit = TimeAmount(limit)
    }

    /// Hears that something begins to wait.
    package func start(at now: NIODeadline) { self.unreadSince = now }

    /// Hears that something of what waited has left.
    package func somethingLeft(at now: NIODeadline) {
        if self.unreadSince != nil { self.unreadSince = now }
    }

    /// Hears that nothing waits any longer.
    package func stop() { self.unreadSince = nil }

    /// Closes the channel as soon as nothing has left for too long, unless ``stop()`` comes first.
    package func watch(_ context: ChannelHandlerContext) {
        if self.alarm == nil { self.look(context) }
    }

    /// Forgets the channel.
    package func cancel() { self.alarm.cancelOnce() }

    /// Closes the channel if nothing has left for too long, and looks again when that may be.
    private func look(_ context: ChannelHandlerContext) {
        self.alarm = nil
        guard let unreadSince else { return }
        let deadline = unreadSince + self.limit
        guard context.eventLoop.now < deadline else { return context.close(promise: nil) }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        self.alarm = context.eventLoop.scheduleTask(deadline: deadline) {
            let (clock, context) = bound.value
            clock.look(context)
        }
    }
}
