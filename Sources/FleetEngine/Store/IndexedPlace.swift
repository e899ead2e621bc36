// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI

/// A resource's entry in SQLite's spatial index: a box around a place where it was.
///
/// The entry stays while the resource stays within the box, so that most reports of a location leave the index alone.
/// What the index finds is compared with the exact place. PostgreSQL's index keeps to the same reach.
struct IndexedPlace: Hashable, Sendable {
    /// Half a side of the box, in degrees: 222 m from north to south.
    static let reach = 0.002

    /// How far a corner is from the middle at most, with what SQLite's rounding to single precision adds.
    static let reachMeters = 320.0

    /// The middle of the box.
    let latitude: Double
    let longitude: Double
    /// Whether the resource is at work.
    let isActive: Bool

    init(latitude: Double, longitude: Double, isActive: Bool) {
        self.latitude = latitude
        self.longitude = longitude
        self.isActive = isActive
    }

    /// The entry that a resource is to have, given the one it has; `nil` for one without a place.
    init?(_ keys: StoreKeys, after former: IndexedPlace?) {
        guard let place = keys.place else { return nil }
        if let former, former.isActive == keys.isActive, former.holds(place) {
            self = former
        } else {
            self.init(latitude: place.latitude, longitude: place.longitude, isActive: keys.isActive)
        }
    }

    private func holds(_ place: LatLng) -> Bool {
        abs(place.latitude - self.latitude) <= Self.reach && abs(place.longitude - self.longitude) <= Self.reach
    }
}
