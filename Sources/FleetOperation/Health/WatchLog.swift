// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
package import Logging

/// What is done again and again, with each failure logged once, until it passes or is another.
package final class WatchLog: Sendable {
    private let logger: Logger
    /// What could not be done when it was tried last.
    private let problems = Locked<[String: String]>([:])

    /// Makes a log.
    package init(logger: Logger) {
        self.logger = logger
    }

    /// Why a part could not be done when it was tried last.
    package func problem(of part: String) -> String? { self.problems.withLock { $0[part] } }

    /// Does a part.
    package func perform(_ part: String, _ body: () async throws -> Void) async {
        var problem: String?
        do {
            try await body()
        } catch {
            // What was cancelled says nothing of the part.
            guard !Task.isCancelled else { return }
            problem = "\(error)"
        }
        self.note(part, problem: problem)
    }

    /// Takes note of how a part was done.
    ///
    /// - Parameters:
    ///   - part: The part.
    ///   - problem: Why it could not be done; `nil` where it could.
    package func note(_ part: String, problem: String?) {
        let isNews = self.problems.withLock { problems in
            defer { problems[part] = problem }
            return problems[part] != problem
        }
        guard isNews else { return }
        if let problem {
            self.logger.error(
                "what was read last stays in force", metadata: ["part": "\(part)", "error": "\(problem)"])
        } else {
            self.logger.notice("nothing is wrong any more", metadata: ["part": "\(part)"])
        }
    }
}
