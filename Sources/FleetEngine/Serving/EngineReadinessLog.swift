// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import ServiceLifecycle

/// Looks again and again what keeps the engine from its work, for the log.
struct EngineReadinessLog: Service {
    /// What is wrong now, by check.
    let problems: @Sendable () async -> [String: String]
    let log: ReadinessLog

    func run() async throws {
        // Keys and lists are fetched meanwhile.
        await untilShutdown(waitingFirst: true) { self.log.note(await self.problems()) }
    }
}
