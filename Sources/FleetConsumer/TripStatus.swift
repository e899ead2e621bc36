// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// How far a trip is, as the engine names it.
public struct TripStatus: RawRepresentable, Hashable, Sendable {
    /// The value on the wire; unknown ones are kept.
    public let rawValue: String
    /// Wraps any value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The engine did not say.
    public static let unknown = Self(rawValue: "UNKNOWN_TRIP_STATUS")
    /// Created; no vehicle is on its way.
    public static let new = Self(rawValue: "NEW")
    /// The driver is on the way to the pickup.
    public static let enrouteToPickup = Self(rawValue: "ENROUTE_TO_PICKUP")
    /// The driver is at the pickup.
    public static let arrivedAtPickup = Self(rawValue: "ARRIVED_AT_PICKUP")
    /// The driver is at a destination on the way.
    public static let arrivedAtIntermediateDestination = Self(rawValue: "ARRIVED_AT_INTERMEDIATE_DESTINATION")
    /// The driver is on the way to a destination before the last.
    public static let enrouteToIntermediateDestination = Self(rawValue: "ENROUTE_TO_INTERMEDIATE_DESTINATION")
    /// The driver is on the way to the drop-off.
    public static let enrouteToDropoff = Self(rawValue: "ENROUTE_TO_DROPOFF")
    /// The trip is over.
    public static let complete = Self(rawValue: "COMPLETE")
    /// The trip was called off.
    public static let canceled = Self(rawValue: "CANCELED")

    /// Whether nothing more will happen.
    public var isFinal: Bool { self == .complete || self == .canceled }
}
