// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ServiceLifecycle

/// Runs a body beside the servers, and ends it when they shut down.
struct ReadyService: Service {
    let body: @Sendable () async throws -> Void

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            try await self.body()
        }
        try? await gracefulShutdown()
    }
}
