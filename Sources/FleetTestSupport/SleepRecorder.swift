// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A ``ManualClock`` that tells who wants to sleep for how long, so that pauses can be compared exactly.
public struct SleepRecorder: Clock {
    /// The clock that decides when sleepers wake.
    public let clock = ManualClock()
    /// How long each sleeper wants to sleep, in the order in which they lie down; for one reader.
    public let sleeps: AsyncStream<Duration>

    private let recorded: AsyncStream<Duration>.Continuation

    /// Makes a clock that stands at zero.
    public init() {
        (self.sleeps, self.recorded) = AsyncStream.makeStream()
    }

    /// The moment at which the clock stands.
    public var now: ManualClock.Instant { self.clock.now }
    /// The smallest step, which is arbitrary here.
    public var minimumResolution: Duration { self.clock.minimumResolution }

    /// Waits until the clock has been moved to a moment.
    ///
    /// - Parameters:
    ///   - deadline: When to go on.
    ///   - tolerance: Plays no part.
    /// - Throws: `CancellationError` when the task is cancelled.
    public func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {
        self.recorded.yield(self.clock.now.duration(to: deadline))
        try await self.clock.sleep(until: deadline, tolerance: tolerance)
    }

    /// Waits for the next sleeper that is not one of the given length, and lets its time pass.
    ///
    /// - Parameter length: What is left out, such as the time limit of a call.
    /// - Returns: How long the sleeper wanted to sleep.
    public func passNextSleep(except length: Duration) async -> Duration? {
        let sleep = await self.sleeps.first { $0 != length }
        if let sleep { self.clock.advance(by: sleep) }
        return sleep
    }
}
