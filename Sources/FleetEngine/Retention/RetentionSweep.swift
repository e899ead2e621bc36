// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import Foundation
public import Logging
public import ServiceLifecycle

/// Deletes what is no longer kept, ten minutes after the start and then from time to time.
///
/// A clock that is days ahead would have everything deleted. So there is time to set it after the start, and once it was
/// set by more than a minute nothing is deleted before it has been left alone for ten.
public struct RetentionSweep: Service {
    /// How long the clock must have been left alone.
    private static let quiet = Duration.seconds(600)
    /// How far the clock may have gone from one that nobody sets, in seconds.
    private static let tolerance: TimeInterval = 60

    private let engine: Engine
    private let policy: RetentionPolicy
    private let interval: Duration
    private let logger: Logger
    private let time: TimeSource

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
        self.init(
            engine: engine, policy: policy, interval: interval, logger: logger,
            time: TimeSource(clock: ContinuousClock()))
    }

    init(engine: Engine, policy: RetentionPolicy, interval: Duration, logger: Logger, time: TimeSource) {
        self.engine = engine
        self.policy = policy
        self.interval = interval
        self.logger = logger
        self.time = time
    }

    /// Sweeps until graceful shutdown or cancellation; a sweep that fails is told and made up for by the next.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            var last = (date: self.time.date, uptime: self.time.uptime)
            var rest = Self.quiet
            while (try? await self.time.sleep(for: rest)) != nil {
                let now = (date: self.time.date, uptime: self.time.uptime)
                let step = now.date.timeIntervalSince(last.date) - (now.uptime - last.uptime) / .seconds(1)
                last = now
                guard abs(step) <= Self.tolerance else {
                    self.logger.warning(
                        "Nothing is deleted yet, as the clock was set", metadata: ["seconds": "\(Int(step))"])
                    rest = Self.quiet
                    continue
                }
                do {
                    let count = try await self.engine.sweep(self.policy)
                    if count > 0 { self.logger.info("Deleted what is no longer kept", metadata: ["count": "\(count)"]) }
                } catch is CancellationError {
                    return
                } catch {
                    self.logger.error("A sweep failed", metadata: ["error": "\(error)"])
                }
                rest = self.interval
            }
        }
    }
}
