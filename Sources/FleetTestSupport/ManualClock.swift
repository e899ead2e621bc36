// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens

/// A clock that stands still until a test moves it.
///
/// ```swift
/// let clock = ManualClock()
/// let provider = try FleetTokenProvider(endpoint: endpoint, transport: stub, clock: clock)
/// clock.advance(by: .seconds(3000))
/// ```
public final class ManualClock: Clock, Sendable {
    /// A moment, as the time since the clock was made.
    public struct Instant: InstantProtocol {
        /// The time since the clock was made.
        public let sinceStart: Duration

        /// The moment after, or before, this one by a duration.
        public func advanced(by duration: Duration) -> Self { Self(sinceStart: self.sinceStart + duration) }
        /// The time from this moment to another.
        public func duration(to other: Self) -> Duration { other.sinceStart - self.sinceStart }
        /// Whether a moment comes before another.
        public static func < (lhs: Self, rhs: Self) -> Bool { lhs.sinceStart < rhs.sinceStart }
    }

    private struct Sleeper: Sendable {
        let deadline: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State: Sendable {
        var now = Instant(sinceStart: .zero)
        var sleepers: [UInt64: Sleeper] = [:]
        var lastNumber: UInt64 = 0
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

        /// Takes out who may go on, in the order of their deadlines.
        mutating func takeDueSleepers() -> [Sleeper] {
            let due = self.sleepers.filter { $0.value.deadline <= self.now }
            for number in due.keys { self.sleepers[number] = nil }
            return due.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }.map(\.value)
        }

        mutating func takeSatisfiedWatchers() -> [CheckedContinuation<Void, Never>] {
            let count = self.sleepers.count
            let satisfied = self.watchers.filter { $0.count <= count }.map(\.continuation)
            self.watchers.removeAll { $0.count <= count }
            return satisfied
        }
    }

    private let state = Locked(State())

    /// Makes a clock that stands at zero.
    public init() {}

    /// The moment at which the clock stands.
    public var now: Instant { self.state.withLock(\.now) }

    /// How many tasks sleep on the clock.
    public var sleeperCount: Int { self.state.withLock(\.sleepers.count) }

    /// The smallest step, which is arbitrary here.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Waits until the clock has been moved to a moment.
    ///
    /// - Parameters:
    ///   - deadline: When to go on.
    ///   - tolerance: Plays no part.
    /// - Throws: `CancellationError` when the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let number = self.state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let sleeper = Sleeper(deadline: deadline, continuation: continuation)
                let (due, watchers) = self.state.withLock { state in
                    state.sleepers[number] = sleeper
                    return (state.takeDueSleepers(), state.takeSatisfiedWatchers())
                }
                for sleeper in due { sleeper.continuation.resume() }
                for watcher in watchers { watcher.resume() }
                if Task.isCancelled { self.wake(number) }
            }
        } onCancel: {
            self.wake(number)
        }
    }

    /// Moves the clock forward and wakes who waited for it.
    ///
    /// - Parameter duration: By how much; a negative one moves nothing.
    public func advance(by duration: Duration) {
        let due = self.state.withLock { state in
            state.now = max(state.now, state.now.advanced(by: duration))
            return state.takeDueSleepers()
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Waits until at least so many tasks sleep on the clock, so that a test moves it at the right time.
    ///
    /// - Parameter count: How many.
    public func waitForSleepers(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isSatisfied = self.state.withLock { state in
                guard state.sleepers.count < count else { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isSatisfied { continuation.resume() }
        }
    }

    private func wake(_ number: UInt64) {
        let sleeper = self.state.withLock { $0.sleepers.removeValue(forKey: number) }
        sleeper?.continuation.resume(throwing: CancellationError())
    }
}
