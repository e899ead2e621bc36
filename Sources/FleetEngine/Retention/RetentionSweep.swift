// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
public import Logging
public import ServiceLifecycle

/// Deletes what is no longer kept, once at the start and then from time to time.
public struct RetentionSweep: Service {
    private let engine: Engine
    private let policy: RetentionPolicy
    private let interval: Duration
    private let logger: Logger

    /// Prepares the sweep of an engine.
    ///
    /// - Parameters:
    ///   - engine: The engine.
    ///   - policy: How long it keeps what.
    ///   - interval: How long to rest between sweeps.
    ///   - logger: Where deletions and failures are told.
    public init(
        engine: Engine, policy: RetentionPolicy = RetentionPolicy(), interval: Duration = .seconds(3600), logger: Logger
    ) {
        self.engine = engine
        self.policy = policy
        self.interval = interval
        self.logger = logger
    }

    /// Sweeps until graceful shutdown or cancellation; a sweep that fails is told and made up for by the next.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            repeat {
                do {
                    let count = try await self.engine.sweep(self.policy)
                    if count > 0 { self.logger.info("Deleted what is no longer kept", metadata: ["count": "\(count)"]) }
                } catch is CancellationError {
                    return
                } catch {
                    self.logger.error("A sweep failed", metadata: ["error": "\(error)"])
                }
            } while (try? await Task.sleep(for: self.interval.waitable)) != nil
        }
    }
}
