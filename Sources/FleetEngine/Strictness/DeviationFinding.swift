// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
public import Foundation

/// One rule of the documentation that one vehicle, trip or other subject does not keep.
public struct DeviationFinding: Hashable, Sendable {
    /// A call with which it was first seen; it holds no token.
    public struct Example: Hashable, Sendable {
        /// What was called.
        public let method: FleetMethod
        /// The role of the account that signed; `nil` where no token is known, as in recordings.
        public let role: Role?
        /// The token's fingerprint; `nil` where no token is known.
        public let fingerprint: String?
    }

    /// The rule.
    public let deviation: Deviation
    /// What the token reaches, for rules of tokens; what was addressed, for the others.
    public let subject: EngineActivity.Subject
    /// The provider of the subject.
    public let provider: ProviderID
    /// In how many calls it was seen.
    public internal(set) var count: Int
    /// When it was first seen.
    public let firstSeen: Date
    /// When it was last seen.
    public internal(set) var lastSeen: Date
    /// The call with which it was first seen.
    public let example: Example
}
