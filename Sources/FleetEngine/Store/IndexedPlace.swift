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

    /// Where a provider's entries begin in the third dimension of SQLite's spatial index, in which each takes 1: those at
    /// work next above the others.
    ///
    /// So the index leads past what other providers have in the same place. Two providers may have the same shelves, as
    /// these go by a hash, FNV-1a; the rows tell whose they are. Stores keep the value, so it never changes.
    static func shelf(of provider: String, isActive: Bool) -> Int64 {
        let hash = provider.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { hash, byte in
            (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
        }
        // The index has single precision, which holds whole numbers up to 2^24 exactly.
        return Int64(hash % (1 << 22)) * 2 + (isActive ? 1 : 0)
    }

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
