// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver

/// A drive without end, for one reporter that keeps to its interval: the rest of a route, then a whole one again and again.
struct EndlessDrive: LocationSource {
    typealias Element = LocationFix

    private let rest: RouteLocationSource
    private let lap: Route
    private let speed: Double

    /// Makes a drive whose first fix is due at once.
    ///
    /// - Parameters:
    ///   - rest: What is driven first.
    ///   - lap: What is driven from then on.
    ///   - speed: How many times faster than recorded.
    /// - Throws: `DriverError` with `invalidSpeed`.
    init(_ rest: Route, then lap: Route, speed: Double) throws(DriverError) {
        self.rest = try RouteLocationSource(route: rest, speed: speed)
        self.lap = lap
        self.speed = speed
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(drive: self)
    }

    struct Iterator: AsyncIteratorProtocol {
        private let drive: EndlessDrive
        private var part: RouteLocationSource.Iterator

        fileprivate init(drive: EndlessDrive) {
            self.drive = drive
            self.part = drive.rest.makeAsyncIterator()
        }

        mutating func next() async throws -> LocationFix? {
            if let fix = try await self.part.next() { return fix }
            self.part = try RouteLocationSource(route: self.drive.lap, speed: self.drive.speed).makeAsyncIterator()
            return try await self.part.next()
        }
    }
}
