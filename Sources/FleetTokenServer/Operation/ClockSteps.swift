// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Notices that a clock was set, by one that nobody sets.
///
/// Which time is the right one, that before or that after, cannot be told here: NTP may have mended the clock, or somebody
/// spoilt it. So neither is trusted until the clock has been left alone for a while.
struct ClockSteps: Sendable {
    /// How long a clock that was set must be left alone, in seconds.
    ///
    /// Twice the 300 s for which ntpd looks at a difference before it sets the clock, so that it had the time to undo a step
    /// that was wrong.
    static let quiet: Double = 600

    private var reference: (now: Date, uptime: Double)
    /// By how much the clock was set, and since when it stands so.
    private var step: (seconds: Double, uptime: Double)?

    /// Takes a clock for right as it is.
    init(now: Date, uptime: Double) {
        self.reference = (now, uptime)
    }

    /// What is wrong with the clock.
    ///
    /// - Parameters:
    ///   - now: What it says.
    ///   - uptime: Seconds on a clock that nobody sets.
    /// - Returns: The problem in words; `nil` where the clock goes on as it did, or does so again.
    mutating func problem(now: Date, uptime: Double) -> String? {
        let seconds = now.timeIntervalSince(self.reference.now) - (uptime - self.reference.uptime)
        guard abs(seconds) > Readiness.clockTolerance else {
            self.step = nil
            return nil
        }
        guard let step = self.step, abs(seconds - step.seconds) <= Readiness.clockTolerance else {
            self.step = (seconds, uptime)
            return Self.problem(seconds)
        }
        guard uptime - step.uptime >= Self.quiet else { return Self.problem(seconds) }
        self = Self(now: now, uptime: uptime)
        return nil
    }

    private static func problem(_ seconds: Double) -> String {
        "the clock was set by \(Int(seconds)) s; it counts as right when it was not set again for "
            + "\(Int(Self.quiet / 60)) minutes"
    }
}
