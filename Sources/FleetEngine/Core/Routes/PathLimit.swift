// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI

/// How many points the lines of an answer have, however many a router has told.
enum PathLimit {
    /// The most points of all lines of an answer: two megabytes, as each takes 20 bytes, so that an answer about one
    /// resource, too, is within ``Paging/maximumBytes`` with the rest.
    static let maximumPoints = 100_000

    /// A line with its share of the points that an answer has, spread evenly over it, its ends among them.
    ///
    /// - Parameters:
    ///   - path: The line.
    ///   - total: How many points the lines of the answer have together.
    /// - Returns: The line; the same one where the lines have no more points than may be.
    static func thinned(_ path: [LatLng], of total: Int) -> [LatLng] {
        guard total > self.maximumPoints, path.count > 2 else { return path }
        let last = max(1, path.count * self.maximumPoints / total - 1)
        return (0...last).map { path[$0 * (path.count - 1) / last] }
    }
}
