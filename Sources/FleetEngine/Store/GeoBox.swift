// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI

/// A box of latitudes and longitudes in degrees; it crosses the 180th meridian when west lies east of east.
struct GeoBox: Hashable, Sendable {
    var south: Double
    var west: Double
    var north: Double
    var east: Double

    /// Every place there is.
    static let world = Self(south: -90, west: -180, north: 90, east: 180)

    /// Whether a point lies in the box.
    func contains(latitude: Double, longitude: Double) -> Bool {
        guard (self.south...max(self.south, self.north)).contains(latitude) else { return false }
        return self.west <= self.east
            ? (self.west...self.east).contains(longitude)
            : longitude >= self.west || longitude <= self.east
    }

    /// Reads the viewport of a list.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT` for a corner that is missing or out of range, and for a box
    ///   that holds nothing.
    init(_ viewport: Viewport) throws(EngineError) {
        guard viewport.hasLow, viewport.hasHigh else {
            throw .invalidArgument("viewport needs its low and its high corner.", field: "viewport")
        }
        try viewport.low.check("viewport.low")
        try viewport.high.check("viewport.high")
        guard viewport.low.latitude <= viewport.high.latitude,
            viewport.low.longitude != 180 || viewport.high.longitude != -180
        else {
            throw .invalidArgument(
                "viewport is empty; low is its south-west corner, high its north-east.", field: "viewport")
        }
        var (west, east) = (viewport.low.longitude, viewport.high.longitude)
        // A side on the 180th meridian has the places there in either spelling, as a box that crosses it has.
        if east == 180, west != -180 { east = -180 } else if west == -180, east != 180 { west = 180 }
        self.init(south: viewport.low.latitude, west: west, north: viewport.high.latitude, east: east)
    }

    init(south: Double, west: Double, north: Double, east: Double) {
        self.south = south
        self.west = west
        self.north = north
        self.east = east
    }
}
