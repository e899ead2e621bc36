// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A moment on a clock that only goes forward and counts sleep, as the time since an arbitrary origin.
package struct MonotonicInstant: InstantProtocol {
    /// The time since the origin.
    package var sinceOrigin: Duration

    /// A moment at a distance from the origin.
    package init(sinceOrigin: Duration = .zero) {
        self.sinceOrigin = sinceOrigin
    }

    package func advanced(by duration: Duration) -> Self {
        Self(sinceOrigin: self.sinceOrigin + duration)
    }

    package func duration(to other: Self) -> Duration {
        other.sinceOrigin - self.sinceOrigin
    }

    package static func < (lhs: Self, rhs: Self) -> Bool {
        lhs.sinceOrigin < rhs.sinceOrigin
    }
}

/// A clock without its type, so that what uses one need not be generic.
package struct MonotonicTime: Sendable {
    private let reading: @Sendable () -> MonotonicInstant
    private let sleeping: @Sendable (MonotonicInstant) async throws -> Void

    /// Wraps a clock; its present reading becomes the origin.
    package init<C: Clock>(_ clock: C) where C.Duration == Duration {
        let origin = clock.now
        self.reading = { MonotonicInstant(sinceOrigin: origin.duration(to: clock.now)) }
        self.sleeping = { instant in
            try await clock.sleep(until: origin.advanced(by: instant.sinceOrigin), tolerance: nil)
        }
    }

    /// The present moment.
    package var now: MonotonicInstant { self.reading() }

    /// Waits until a moment has come, or throws `CancellationError`.
    package func sleep(until instant: MonotonicInstant) async throws {
        try await self.sleeping(instant)
    }
}
