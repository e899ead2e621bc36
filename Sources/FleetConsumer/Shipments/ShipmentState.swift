// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Whether a shipment's task is still to be done, as the engine names it.
public struct ShipmentState: RawRepresentable, Hashable, Sendable {
    /// The value on the wire; unknown ones are kept.
    public let rawValue: String
    /// Wraps any value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The engine did not say.
    public static let unknown = Self(rawValue: "STATE_UNSPECIFIED")
    /// It is still to be done.
    public static let open = Self(rawValue: "OPEN")
    /// It is no vehicle's task any more.
    public static let closed = Self(rawValue: "CLOSED")
}

/// How a shipment ended, as the engine names it.
public struct ShipmentOutcome: RawRepresentable, Hashable, Sendable {
    /// The value on the wire; unknown ones are kept.
    public let rawValue: String
    /// Wraps any value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// It was delivered, or picked up.
    public static let succeeded = Self(rawValue: "SUCCEEDED")
    /// It was not.
    public static let failed = Self(rawValue: "FAILED")
}
