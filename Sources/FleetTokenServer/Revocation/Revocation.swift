// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Whose tokens are withdrawn.
public enum RevocationTarget: Hashable, Sendable {
    /// One token.
    case fingerprint(String)
    /// Every token of a key, those included that no record tells of.
    case key(String)
    /// Every token that a caller got, by its name.
    case caller(String)
    /// Every token that a subject got.
    case subject(String)
    /// Every token whose claims name the resource; not those for everything.
    case resource(AssignedResource)
}

/// Something withdrawn, until no token of it can be alive.
public struct Revocation: Hashable, Sendable {
    /// What a verifier can tell a token by.
    public enum Kind: String, Hashable, Sendable {
        /// The token's fingerprint.
        case fingerprint
        /// The id of the key that signed.
        case key
    }

    /// What ``value`` is.
    public var kind: Kind
    /// The fingerprint or key id.
    public var value: String
    /// When it can be forgotten.
    public var endsAt: Date
}
