// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Measures from the moment it is made, on any clock.
package struct Stopwatch: Sendable {
    private let read: @Sendable () -> Duration

    /// Starts to measure.
    package init(_ clock: any Clock<Duration>) {
        self.read = Self.reader(clock)
    }

    /// The time since the stopwatch was made.
    package var elapsed: Duration { self.read() }

    private static func reader(_ clock: some Clock<Duration>) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }
}
