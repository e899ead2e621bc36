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
}
