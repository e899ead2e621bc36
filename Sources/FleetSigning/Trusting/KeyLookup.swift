// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// What became of asking for a token's key.
public enum KeyLookup: Sendable {
    /// There is such a key now.
    case found
    /// There is none, or the token is of no account that is trusted.
    case unknown
    /// Whether there is one cannot be known now, as the account's keys cannot be fetched.
    case unavailable
}
