// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Tells whether a clock is right, by one that nobody sets, by other servers' and by the last record.
///
/// Which time is the right one, that before a step or that after, cannot be told here: NTP may have mended the clock, or
/// somebody spoilt it. So neither is trusted until another server agrees, or the clock has been left alone for a while.
struct ClockDoubts: Sendable {
    /// How far the clock may be from where it should be, in seconds.
    static let tolerance: Double = 60
    /// How long a clock that is in doubt must be left alone.
    ///
    /// Twice the 300 s for which ntpd looks at a difference before it sets the clock, so that it had the time to undo a step
    /// that was wrong.
    static let quiet = Duration.seconds(600)

    private var reference: (now: Date, uptime: Duration)
    /// By how much the clock was set, and since when it stands so.
    private var step: (seconds: Double, uptime: Duration)?
    /// When the clock was last seen to be set, if ever.
    private var lastSet: Duration?
    /// The last record that is of a time to come, and when it was first seen.
    private var record: (time: Date, uptime: Duration)?

    /// Takes a clock for right as it is.
    init(now: Date, uptime: Duration) {
        self.reference = (now, uptime)
    }

    /// What is wrong with the clock.
    ///
    /// - Parameters:
    ///   - now: What it says.
    ///   - uptime: What a clock says that nobody sets.
    ///   - others: What other servers say of it, the nearest first.
    ///   - lastRecord: When the last record was made, by the clock as it was then.
    /// - Returns: The problem in words; `nil` where nothing speaks against the clock.
    mutating func problem(
        now: Date, uptime: Duration, others: [UpstreamClocks.Reading] = [], lastRecord: Date? = nil
    ) -> String? {
        self.look(now: now, uptime: uptime)
        if let nearest = others.first, abs(nearest.ahead) <= Self.tolerance {
            self.reference = (now, uptime)
            self.step = nil
            self.record = nil
            return nil
        }
        // A machine that stood still does not know for how long: what it had heard is of no use once its clock was set.
        let nearest = others.first { reading in self.lastSet.map { reading.age < uptime - $0 } ?? true }
        if let nearest {
            return "the clock is \(Int(abs(nearest.ahead))) s \(nearest.ahead > 0 ? "ahead of" : "behind") "
                + "\(nearest.host); set it by NTP"
        }
        return self.stepProblem ?? self.recordProblem(lastRecord, now: now, uptime: uptime)
    }

    /// Notices that the clock was set, and what was left alone for long enough.
    private mutating func look(now: Date, uptime: Duration) {
        let seconds = now.timeIntervalSince(self.reference.now) - (uptime - self.reference.uptime) / .seconds(1)
        guard abs(seconds) > Self.tolerance else {
            if self.step != nil { self.lastSet = uptime }
            self.step = nil
            // Small corrections, as for a crystal that is a little off, would add up to what looks like a step.
            if uptime - self.reference.uptime >= Self.quiet { self.reference = (now, uptime) }
            return
        }
        guard let step = self.step, abs(seconds - step.seconds) <= Self.tolerance else {
            self.step = (seconds, uptime)
            self.lastSet = uptime
            return
        }
        guard uptime - step.uptime >= Self.quiet else { return }
        self.reference = (now, uptime)
        self.step = nil
    }

    private var stepProblem: String? {
        self.step.map { "the clock was set by \(Int($0.seconds)) s; \(Self.remedy)" }
    }

    private mutating func recordProblem(_ last: Date?, now: Date, uptime: Duration) -> String? {
        guard let last else { return nil }
        let ahead = last.timeIntervalSince(now)
        guard ahead > Self.tolerance else {
            self.record = nil
            return nil
        }
        if let record = self.record, last.timeIntervalSince(record.time) <= Self.tolerance {
            guard uptime - record.uptime < Self.quiet else { return nil }
        } else {
            self.record = (last, uptime)
        }
        return "the clock is \(Int(ahead)) s before the last record; \(Self.remedy)"
    }

    private static let remedy =
        "it counts as right when another server's agrees, or it was not set for \(Self.quiet.components.seconds / 60) minutes"
}
