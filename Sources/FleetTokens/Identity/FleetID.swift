// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What an id names; a marker type that keeps a vehicle's id from being used as a trip's.
public protocol FleetIDKind: Sendable {
    /// The name for messages, such as `vehicle id`.
    static var noun: String { get }
}

/// A checked Fleet Engine id, which can never be a wildcard.
///
/// An id is 1 to 64 Unicode scalars in normalisation form C without `/ : ? , #`, control characters, or the wildcard
/// `*` (rule: id syntax of the public proto comments; wildcard: issue-jwt guide). `.` and `..` are refused as well:
/// URL normalisation would turn them into another path before the request is sent.
///
/// The value is normalised on construction, so two spellings of one text are one id.
public struct FleetID<Kind: FleetIDKind>: Hashable, Sendable, CustomStringConvertible, LosslessStringConvertible {
    /// The normalised text of the id.
    public let value: String

    /// The id as plain text.
    public var description: String { self.value }

    /// Checks and normalises an id.
    ///
    /// - Parameter text: The id as it was received.
    /// - Throws: ``TokenError`` with ``TokenError/Code/invalidIdentifier``.
    public init(checking text: some StringProtocol) throws(TokenError) {
        let text = String(text)
        if Self.isPlain(text) {
            self.value = text
            return
        }
        // Bounds the work on hostile input before anything is normalised; no valid id needs more.
        guard text.utf8.count <= 64 * 12 else { throw Self.error("is longer than 64 characters") }
        let value = text.precomposedStringWithCanonicalMapping
        guard !value.isEmpty else { throw Self.error("is empty") }
        guard value.unicodeScalars.count <= 64 else { throw Self.error("is longer than 64 characters") }
        // Of more than 60 marks in a row Foundation drops some, and different texts would be one id. A scalar is two at most.
        guard text.unicodeScalars.count <= 30 || value == text else {
            throw Self.error("has too many combining marks in a row")
        }
        guard value != "*" else {
            throw Self.error("is the wildcard \"*\", which is no id; name one resource")
        }
        guard value != ".", value != ".." else { throw Self.error("is a relative path segment") }
        for scalar in value.unicodeScalars {
            switch scalar {
            case "/", ":", "?", ",", "#":
                throw Self.error("holds \"\(scalar)\"; none of / : ? , # is allowed")
            case _ where scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value):
                throw Self.error("holds the control character U+\(String(scalar.value, radix: 16, uppercase: true))")
            default: break
            }
        }
        self.value = value
    }

    /// Whether an id holds nothing but letters, digits, `-` and `_`, as almost all do: no rule is about any of these but
    /// that of the length.
    private static func isPlain(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    /// Checks an id, or is `nil` when the text is not a valid one.
    public init?(_ description: String) {
        guard let id = try? Self(checking: description) else { return nil }
        self = id
    }

    private static func error(_ problem: String) -> TokenError {
        TokenError(code: .invalidIdentifier, message: "The \(Kind.noun) \(problem).")
    }
}

extension FleetID: Codable {
    /// Reads and checks an id from a string value.
    public init(from decoder: any Decoder) throws {
        try self.init(checking: String(from: decoder))
    }

    /// Writes the id as a string value.
    public func encode(to encoder: any Encoder) throws {
        try self.value.encode(to: encoder)
    }
}

/// Marks the id of an on-demand vehicle.
public enum VehicleKind: FleetIDKind {
    /// The name for messages.
    public static let noun = "vehicle id"
}
/// Marks the id of an on-demand trip.
public enum TripKind: FleetIDKind {
    /// The name for messages.
    public static let noun = "trip id"
}
/// Marks the id of a scheduled task.
public enum TaskKind: FleetIDKind {
    /// The name for messages.
    public static let noun = "task id"
}
/// Marks the id of a delivery vehicle.
public enum DeliveryVehicleKind: FleetIDKind {
    /// The name for messages.
    public static let noun = "delivery vehicle id"
}
/// Marks the tracking id of a shipment.
public enum TrackingKind: FleetIDKind {
    /// The name for messages.
    public static let noun = "tracking id"
}
/// Marks the id of a provider.
public enum ProviderKind: FleetIDKind {
    /// The name for messages.
    public static let noun = "provider id"
}

/// The id of an on-demand vehicle.
public typealias VehicleID = FleetID<VehicleKind>
/// The id of an on-demand trip.
public typealias TripID = FleetID<TripKind>
/// The id of a scheduled task.
public typealias TaskID = FleetID<TaskKind>
/// The id of a delivery vehicle.
public typealias DeliveryVehicleID = FleetID<DeliveryVehicleKind>
/// The tracking id of a shipment; several tasks may share one.
public typealias TrackingID = FleetID<TrackingKind>
/// The id of a provider, which is the id of its cloud project.
public typealias ProviderID = FleetID<ProviderKind>
