// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// What measured a location, as the engine names it.
public struct LocationSensor: RawRepresentable, Hashable, Sendable {
    /// The value on the wire.
    public let rawValue: String
    /// Wraps any value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A satellite receiver.
    public static let gps = Self(rawValue: "GPS")
    /// The location service of Apple's platforms.
    public static let coreLocation = Self(rawValue: "CORE_LOCATION")
    /// A position that was put onto the road.
    public static let roadSnapped = Self(rawValue: "ROAD_SNAPPED_LOCATION_PROVIDER")
    /// A position from elsewhere, such as a tracker or a recording.
    public static let customerSupplied = Self(rawValue: "CUSTOMER_SUPPLIED_LOCATION")
}
