// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Logging
import ServiceLifecycle

/// Logs when something begins or ceases to keep the engine from its work, in the words of the token server's readiness.
struct EngineReadinessLog: Service {
    /// What is wrong now, by check.
    let problems: @Sendable () async -> [String: String]
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var known: [String: String] = [:]
            while !Task.isCancelled {
                // Keys and lists are fetched meanwhile.
                try? await Task.sleep(for: .seconds(2))
                guard !Task.isCancelled else { return }
                let found = await self.problems()
                for check in Set(known.keys).symmetricDifference(found.keys).sorted() {
                    self.logger.log(
                        level: found[check] == nil ? .notice : .error, "readiness changed",
                        metadata: ["check": "\(check)", "problem": "\(found[check] ?? "none")"])
                }
                known = found
            }
        }
    }
}
