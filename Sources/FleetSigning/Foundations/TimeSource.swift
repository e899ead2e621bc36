// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
package import Foundation

/// The two clocks that servers need, without their types: one that only goes forward, and the date.
package struct TimeSource: Sendable {
    private let reading: @Sendable () -> Duration
    private let sleeping: @Sendable (Duration) async throws -> Void
    private let dating: @Sendable () -> Date

    /// Pairs a clock with a source of dates; the clock's present reading becomes the origin.
    package init<C: Clock>(clock: C, now: @escaping @Sendable () -> Date = { Date() }) where C.Duration == Duration {
        let origin = clock.now
        self.reading = { origin.duration(to: clock.now) }
        self.sleeping = { try await clock.sleep(until: clock.now.advanced(by: $0), tolerance: nil) }
        self.dating = now
    }

    /// The time since the origin, unmoved by corrections of the date.
    package var uptime: Duration { self.reading() }

    /// The present date.
    package var date: Date { self.dating() }

    /// Waits for a while, a year at most, or throws `CancellationError`.
    package func sleep(for duration: Duration) async throws {
        try await self.sleeping(duration.waitable)
    }

    /// Waits for a body as long as a limit allows; what ignores its cancellation is left behind.
    ///
    /// - Parameters:
    ///   - limit: How long to wait.
    ///   - timeout: What is thrown when it took longer.
    ///   - body: The work, which may be anybody's.
    /// - Returns: What the body returns.
    /// - Throws: The time-out, what the body throws, or `CancellationError`.
    package func wait<Result: Sendable>(
        atMost limit: Duration, orThrow timeout: @autoclosure @escaping @Sendable () -> any Error,
        for body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await firstOutcome(of: body) {
            do {
                try await self.sleep(for: limit)
                return timeout()
            } catch {
                return nil
            }
        }.get()
    }

    /// Runs a body that is cancelled when it takes too long, and ends with it.
    ///
    /// - Parameters:
    ///   - limit: How long the body may take.
    ///   - timeout: What is thrown when it took longer.
    ///   - body: The work, which must heed cancellation.
    /// - Returns: What the body returns.
    /// - Throws: The time-out, or what the body throws.
    package func withLimit<Result: Sendable>(
        _ limit: Duration, orThrow timeout: @autoclosure @escaping @Sendable () -> any Error,
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Result.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await self.sleep(for: limit)
                throw timeout()
            }
            defer { group.cancelAll() }
            guard let result = try await group.next() else { throw CancellationError() }
            return result
        }
    }
}
