// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation

extension LatLng {
    private static let earthRadiusMeters = 6_371_008.8

    /// The length of the great circle to another point.
    func meters(to other: LatLng) -> Double {
        func radians(_ degrees: Double) -> Double { degrees * .pi / 180 }
        let latitudes = (radians(self.latitude), radians(other.latitude))
        let half = (
            sin((latitudes.1 - latitudes.0) / 2), sin(radians(other.longitude - self.longitude) / 2)
        )
        let haversine = half.0 * half.0 + cos(latitudes.0) * cos(latitudes.1) * half.1 * half.1
        return 2 * Self.earthRadiusMeters * asin(min(1, haversine.squareRoot()))
    }

    /// The point on the grid of 1e-7 degrees, as the service stores waypoints.
    var rounded: LatLng { self.onGrid(steps: 1e7) }

    /// The point on the grid of 1e-3 degrees, as customers are told of vehicles that they look for.
    var rough: LatLng { self.onGrid(steps: 1e3) }

    /// How far a point is from its rough one at most, which is at the equator.
    static let roughMeters = 80.0

    private func onGrid(steps: Double) -> LatLng {
        var point = LatLng()
        point.latitude = (self.latitude * steps).rounded() / steps
        point.longitude = (self.longitude * steps).rounded() / steps
        return point
    }

    /// Checks the ranges of latitude and longitude.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`, also for what is not a number.
    func check(_ field: String) throws(EngineError) {
        guard (-90...90).contains(self.latitude), (-180...180).contains(self.longitude) else {
            throw .invalidArgument(
                "\(field) is \(self.latitude), \(self.longitude); latitudes go from -90 to 90, longitudes from -180 "
                    + "to 180.",
                field: field
            )
        }
    }
}

extension GeoBox {
    /// The smallest box that holds everything within a radius of a point.
    init(around center: LatLng, meters: Double) {
        let reach = meters / 111_195 * 1.001
        let south = max(-90, center.latitude - reach)
        let north = min(90, center.latitude + reach)
        let narrowest = min(cos(south * .pi / 180), cos(north * .pi / 180))
        let width = narrowest > 1e-6 ? reach / narrowest : 180
        guard width < 180 else {
            self.init(south: south, west: -180, north: north, east: 180)
            return
        }
        func wrapped(_ longitude: Double) -> Double {
            longitude < -180 ? longitude + 360 : longitude > 180 ? longitude - 360 : longitude
        }
        self.init(
            south: south, west: wrapped(center.longitude - width),
            north: north, east: wrapped(center.longitude + width)
        )
    }
}
