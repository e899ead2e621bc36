// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

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

    /// How many bytes its value may have; no token has anything shorter or longer.
    package var lengths: ClosedRange<Int> {
        switch self {
        // A name is whatever a login says of its user, and is only looked up: verifiers never see it.
        case .caller: 1...UserTokenClaims.maximumBytes
        case .fingerprint, .key, .subject, .resource: 1...256
        }
    }
}
