// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

/// What the vendor's sample apps read, in the keys of either service, plus relative times that need no clock.
struct TokenAnswer: Encodable {
    /// Whose keys the answer has.
    enum Shape {
        /// `jwt`, `creationTimestamp`, `expirationTimestamp`.
        case onDemand
        /// `token`, `creation_timestamp_ms`, `expiration_timestamp_ms`.
        case scheduled
    }

    private enum Key: String, CodingKey {
        case jwt, creationTimestamp, expirationTimestamp
        case token
        case creationTimestampMS = "creation_timestamp_ms"
        case expirationTimestampMS = "expiration_timestamp_ms"
        case expiresIn = "expires_in"
        case refreshAfter = "refresh_after"
    }

    let issued: IssuedToken
    let shape: Shape

    func encode(to encoder: any Encoder) throws {
        let keys: (token: Key, created: Key, expires: Key) =
            switch self.shape {
            case .onDemand: (.jwt, .creationTimestamp, .expirationTimestamp)
            case .scheduled: (.token, .creationTimestampMS, .expirationTimestampMS)
            }
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(self.issued.token.compactSerialization, forKey: keys.token)
        try container.encode(Self.unixMilliseconds(self.issued.issuedAt), forKey: keys.created)
        try container.encode(Self.unixMilliseconds(self.issued.expiresAt), forKey: keys.expires)
        try container.encode(self.issued.expiresIn.components.seconds, forKey: .expiresIn)
        try container.encode(self.issued.refreshAfter.components.seconds, forKey: .refreshAfter)
    }

    private static func unixMilliseconds(_ date: Date) -> Int64 {
        Int64((date.timeIntervalSince1970 * 1000).rounded(.down))
    }
}
