// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// A deadline of a channel that moves far more often than it passes.
///
/// Its timer is not set anew for each move: when it goes off it looks where the deadline is by then. It belongs to a
/// handler, on whose event loop it is used.
package final class MovingDeadline {
    /// The deadline; `nil` while nothing is waited for.
    package var time: NIODeadline?

    private let passed: (ChannelHandlerContext) -> Void
    private var alarm: Scheduled<Void>?

    /// Makes a deadline that nobody waits for yet.
    ///
    /// - Parameter passed: What is done when it has passed; closes the channel unless it is given.
    package init(passed: @escaping (ChannelHandlerContext) -> Void = { $0.close(promise: nil) }) {
        self.passed = passed
    }

    /// Sees to it that the deadline is heard of, wherever it moves until then, unless it is taken back.
    package func watch(_ context: ChannelHandlerContext) {
        guard self.alarm == nil, let time else { return }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        self.alarm = context.eventLoop.scheduleTask(deadline: time) {
            let (deadline, context) = bound.value
            deadline.alarm = nil
            guard let time = deadline.time else { return }
            if context.eventLoop.now < time { deadline.watch(context) } else { deadline.passed(context) }
        }
    }

    /// Lets go of the channel.
    package func cancel() { self.alarm.cancelOnce() }
}
