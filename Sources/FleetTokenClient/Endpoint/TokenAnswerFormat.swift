// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Which keys of a token server's JSON answer mean what.
public struct TokenAnswerFormat: Hashable, Sendable {
    /// The unit of a number.
    public enum Unit: Hashable, Sendable {
        case seconds
        case milliseconds
    }

    /// What an expiry is counted from.
    public enum Reference: Hashable, Sendable {
        /// From 1970-01-01 UTC on the server's clock.
        case unixEpoch
        /// From the moment of the answer.
        case answer
    }

    /// Where the end of the token's life stands.
    public struct Expiry: Hashable, Sendable {
        /// The key.
        public var key: String
        /// The number's unit.
        public var unit: Unit
        /// What the number is counted from.
        public var reference: Reference

        /// Describes an expiry.
        public init(key: String, unit: Unit, reference: Reference) {
            self.key = key
            self.unit = unit
            self.reference = reference
        }
    }

    /// The key of the token, a string.
    public var tokenKey: String
    /// The expiry that the answer must hold, or `nil` to go by the token's own `exp` and `iat`.
    public var expiry: Expiry?
    /// The key of the seconds after which the server would like to be asked again; the answer may leave it out.
    public var refreshAfterKey: String?

    /// Describes an answer.
    public init(tokenKey: String, expiry: Expiry? = nil, refreshAfterKey: String? = nil) {
        self.tokenKey = tokenKey
        self.expiry = expiry
        self.refreshAfterKey = refreshAfterKey
    }
}
