// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
package import Foundation
package import Logging

/// Logs what each request may bring about: at once the first time, and then how often since, in lines that are at least
/// 10 seconds apart for each cause.
///
/// So neither an outage nor strangers fill a disk, however many requests there are.
package final class RecurringLog: Sendable {
    private struct Cause {
        var toldAt: Date
        var seenAt: Date
        /// How often it came since.
        var untold = 0
    }

    /// How far apart the lines of a cause are, in seconds.
    package static let interval: TimeInterval = 10
    /// How many causes are told apart; what comes beyond is told as one.
    package static let capacity = 16

    private let message: Logger.Message
    private let level: Logger.Level
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let causes = Locked<[String: Cause]>([:])

    /// Makes a log of one thing.
    ///
    /// - Parameters:
    ///   - message: What happens.
    ///   - level: The level of its lines.
    ///   - logger: Hears of it.
    ///   - now: The clock.
    package init(
        _ message: Logger.Message, level: Logger.Level, logger: Logger, now: @escaping @Sendable () -> Date
    ) {
        self.message = message
        self.level = level
        self.logger = logger
        self.now = now
    }

    /// Takes note that it happened.
    ///
    /// - Parameters:
    ///   - cause: What lines are told apart by.
    ///   - metadata: What a line has besides `times`, how often it happened since the last line where that is more than once.
    package func note(_ cause: String, _ metadata: @autoclosure () -> Logger.Metadata) {
        let now = self.now()
        let times = self.causes.withLock { Self.note(cause, in: &$0, at: now) }
        guard let times else { return }
        var metadata = metadata()
        if times > 1 { metadata["times"] = "\(times)" }
        self.logger.log(level: self.level, self.message, metadata: metadata)
    }

    /// How often a cause came since its last line, where it is to be told now.
    private static func note(_ cause: String, in causes: inout [String: Cause], at now: Date) -> Int? {
        var key = cause
        if causes[key] == nil, causes.count >= Self.capacity {
            causes = causes.filter { !Self.isOver($0.value.seenAt, at: now) }
            if causes.count >= Self.capacity { key = "others" }
        }
        var known = causes[key] ?? Cause(toldAt: .distantPast, seenAt: now)
        known.seenAt = now
        known.untold += 1
        let isDue = Self.isOver(known.toldAt, at: now)
        let times = known.untold
        if isDue { (known.toldAt, known.untold) = (now, 0) }
        causes[key] = known
        return isDue ? times : nil
    }

    /// Whether a moment is so long ago that there may be another line; a clock that was set back says nothing.
    private static func isOver(_ time: Date, at now: Date) -> Bool {
        !(0..<Self.interval).contains(now.timeIntervalSince(time))
    }
}
