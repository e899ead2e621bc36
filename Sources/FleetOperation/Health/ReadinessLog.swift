// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
package import Logging

/// Logs when something begins or ceases to keep a server from its work.
package final class ReadinessLog: Sendable {
    private let logger: Logger
    /// What did not hold before anything was tried.
    private let atStart: [String: String]
    private let failing: Locked<[String: String]>

    /// Makes a log.
    ///
    /// - Parameters:
    ///   - problems: What does not hold before anything was tried, by check; whatever is found first is news.
    ///   - logger: Hears of every change.
    package init(atStart problems: [String: String] = [:], logger: Logger) {
        self.logger = logger
        self.atStart = problems
        self.failing = Locked(problems)
    }

    /// What did not hold when that was noted last, in words, by check.
    package var problems: [String: String] { self.failing.withLock { $0 } }

    /// Takes over what does not hold and logs what is new.
    ///
    /// - Parameters:
    ///   - failing: What does not hold, in words, by check.
    ///   - cause: The error behind it, where the words do not tell it.
    package func note(_ failing: [String: String], cause: String? = nil) {
        let before = self.failing.withLock { held in
            defer { held = failing }
            return held
        }
        for check in Set(before.keys).union(failing.keys).sorted() where before[check] != failing[check] {
            // A problem that is still there is told in other words now and then; that is no news.
            let isNews = (before[check] == nil) != (failing[check] == nil) || before[check] == self.atStart[check]
            var metadata: Logger.Metadata = ["check": "\(check)", "problem": "\(failing[check] ?? "none")"]
            if let cause { metadata["error"] = "\(cause)" }
            self.logger.log(
                level: !isNews ? .debug : failing[check] == nil ? .notice : .error, "readiness changed",
                metadata: metadata)
        }
    }
}
