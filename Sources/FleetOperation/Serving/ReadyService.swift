// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ServiceLifecycle

/// Runs a body beside the servers, and ends it when they shut down.
package struct ReadyService: Service {
    private let body: @Sendable () async throws -> Void

    /// Takes the body.
    package init(_ body: @escaping @Sendable () async throws -> Void) {
        self.body = body
    }

    /// Runs the body, and waits for the shutdown.
    ///
    /// - Throws: What the body throws.
    package func run() async throws {
        try await cancelWhenGracefulShutdown {
            try await self.body()
        }
        try? await gracefulShutdown()
    }
}
