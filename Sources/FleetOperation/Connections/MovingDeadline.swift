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
    private var alarm: (task: Scheduled<Void>, time: NIODeadline)?

    /// Makes a deadline that nobody waits for yet.
    ///
    /// - Parameter passed: What is done when it has passed; closes the channel unless it is given.
    package init(passed: @escaping (ChannelHandlerContext) -> Void = { $0.close(promise: nil) }) {
        self.passed = passed
    }

    /// Sees to it that the deadline is heard of, however late it moves until then, unless it is taken back; whoever moves it
    /// to an earlier time says so again.
    package func watch(_ context: ChannelHandlerContext) {
        guard let time, self.alarm.map({ time < $0.time }) ?? true else { return }
        self.alarm?.task.cancel()
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let task = context.eventLoop.scheduleTask(deadline: time) {
            let (deadline, context) = bound.value
            deadline.alarm = nil
            guard let time = deadline.time else { return }
            if context.eventLoop.now < time { deadline.watch(context) } else { deadline.passed(context) }
        }
        self.alarm = (task, time)
    }

    /// Lets go of the channel.
    package func cancel() {
        self.alarm?.task.cancel()
        self.alarm = nil
    }
}
