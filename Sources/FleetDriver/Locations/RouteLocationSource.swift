// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
public import Foundation

/// Drives along a route: yields its fixes when their time has come.
///
/// The times of the fixes are moved so that the drive starts at a given moment; played faster, the speeds grow
/// with it, so that they fit the movement.
public struct RouteLocationSource: LocationSource {
    /// What the source yields.
    public typealias Element = LocationFix

    private let route: Route
    private let speed: Double
    private let start: Date?
    private let time: MonotonicTime

    /// Makes a source; each iteration drives the route once.
    ///
    /// - Parameters:
    ///   - route: What to drive along.
    ///   - speed: How many times faster than it was recorded, from 0.001.
    ///   - start: The time of the first fix; by default, the moment at which a drive begins.
    ///   - clock: What the source waits by.
    /// - Throws: ``DriverError`` with ``DriverError/Code/invalidSpeed``.
    public init(
        route: Route,
        speed: Double = 1,
        start: Date? = nil,
        clock: some Clock<Duration> = ContinuousClock()
    ) throws(DriverError) {
        // A drive of years, played more slowly than this, is longer than what can be waited for.
        guard speed.isFinite, speed >= 0.001 else {
            throw DriverError(
                code: .invalidSpeed,
                message: "A route cannot be played at \(speed) times its speed; use 0.001 or more.")
        }
        self.route = route
        self.speed = speed
        self.start = start
        self.time = MonotonicTime(clock)
    }

    /// Starts the drive.
    public func makeAsyncIterator() -> Iterator {
        Iterator(source: self)
    }

    /// One drive along the route.
    public struct Iterator: AsyncIteratorProtocol {
        private let source: RouteLocationSource
        private let begin: MonotonicInstant
        private let start: Date
        private var index = 0

        fileprivate init(source: RouteLocationSource) {
            self.source = source
            self.begin = source.time.now
            self.start = source.start ?? Date()
        }

        /// The next fix, as soon as its time has come; `nil` at the end of the route.
        ///
        /// - Returns: The fix.
        /// - Throws: `CancellationError` when the task was cancelled.
        public mutating func next() async throws -> LocationFix? {
            let fixes = self.source.route.fixes
            guard self.index < fixes.count else { return nil }
            let fix = fixes[self.index]
            let offset = fix.time.timeIntervalSince(fixes[0].time) / self.source.speed
            self.index += 1
            try await self.source.time.sleep(until: self.begin.advanced(by: .seconds(offset)))
            return fix.replayed(at: self.start.addingTimeInterval(offset), speedFactor: self.source.speed)
        }
    }
}
