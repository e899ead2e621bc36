// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#if canImport(CoreLocation)
    @_exported public import CoreLocation
#else
    /// A point on Earth, where CoreLocation has none.
    public struct CLLocationCoordinate2D: Sendable {
        /// Degrees north.
        public var latitude: Double
        /// Degrees east.
        public var longitude: Double

        /// Makes a point.
        public init(latitude: Double, longitude: Double) {
            self.latitude = latitude
            self.longitude = longitude
        }
    }
#endif

/// A place to drive to, in the shape of Google's Navigation SDK, as far as stops need it: a point with a title.
public final class GMSNavigationWaypoint: NSObject, Sendable {
    /// The place.
    public let coordinate: CLLocationCoordinate2D
    /// What to call it; the engine does not keep it.
    public let title: String

    /// Makes a place, or `nil` where there is no such point.
    public init?(location: CLLocationCoordinate2D, title: String) {
        guard (-90...90).contains(location.latitude), (-180...180).contains(location.longitude) else { return nil }
        self.coordinate = location
        self.title = title
    }
}
