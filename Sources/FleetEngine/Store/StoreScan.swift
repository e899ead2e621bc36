// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf

/// Which resources of a collection are looked through.
///
/// Each restriction but that of age is served by an index; an index of age would have to move with every report of a
/// location. What only the resource itself can tell is for the one who looks.
struct StoreScan: Hashable, Sendable {
    /// Only resources with a greater id, in the order of the bytes of their UTF-8.
    var after = ""
    /// Only resources that are at work.
    var isActiveOnly = false
    /// Only resources that belong to this vehicle.
    var holder: String?
    /// Only tasks with this tracking id.
    var tracking: String?
    /// Only vehicles whose last place lies in this box.
    var box: GeoBox?
    /// Only resources that were last put at this time or before.
    var unchangedSince: Google_Protobuf_Timestamp?
    /// Whether they come in the order of their ids; without, in whatever order is found fastest.
    var isOrdered = true

    /// Whether a place is within the box, where there is one.
    func covers(_ place: @autoclosure () -> LatLng?) -> Bool {
        guard let box else { return true }
        return place().map { box.contains(latitude: $0.latitude, longitude: $0.longitude) } ?? false
    }

    /// Whether it looks at a few resources, unless callers gave many tasks one tracking id.
    var isShort: Bool { self.tracking != nil }

    /// Whether nothing is restricted.
    var isUnrestricted: Bool {
        var other = self
        other.isOrdered = true
        return other == StoreScan()
    }
}
