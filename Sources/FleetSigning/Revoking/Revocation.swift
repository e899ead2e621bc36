// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Something withdrawn, until no token of it can be alive.
public struct Revocation: Hashable, Sendable {
    /// What a verifier can tell a token by.
    public enum Kind: String, Hashable, Sendable {
        /// The token's fingerprint.
        case fingerprint
        /// The id of the key that signed.
        case key
    }

    /// The longest that any token lives, in seconds, and so the longest that a key is withdrawn.
    public static let longest: TimeInterval = 3600

    /// Whether a value can withdraw anything: no token's fingerprint or key id is empty or longer than 256 bytes.
    package static func isUsable(value: String) -> Bool { (1...256).contains(value.utf8.count) }

    /// What ``value`` is.
    public var kind: Kind
    /// The fingerprint or key id.
    public var value: String
    /// When it can be forgotten.
    public var endsAt: Date

    /// Describes something withdrawn.
    public init(kind: Kind, value: String, endsAt: Date) {
        self.kind = kind
        self.value = value
        self.endsAt = endsAt
    }
}
