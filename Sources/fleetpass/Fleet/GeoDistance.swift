// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Distances on a ball, good enough to tell whether a vehicle is at a stop.
enum GeoDistance {
    private static let earthRadius = 6_371_000.0

    /// The metres between two points, each as degrees north and east.
    static func meters(from start: (Double, Double), to end: (Double, Double)) -> Double {
        let radians = Double.pi / 180
        let north = (end.0 - start.0) * radians
        // The shorter way round, which may cross the 180th meridian.
        let east = (end.1 - start.1).remainder(dividingBy: 360) * radians * cos((start.0 + end.0) / 2 * radians)
        return Self.earthRadius * (north * north + east * east).squareRoot()
    }
}
