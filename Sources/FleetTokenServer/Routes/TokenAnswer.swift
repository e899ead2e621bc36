// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

/// What the vendor's sample apps read, in the keys of either service, plus relative times that need no clock.
struct TokenAnswer {
    /// Whose keys the answer has.
    enum Shape {
        /// `jwt`, `creationTimestamp`, `expirationTimestamp`.
        case onDemand
        /// `token`, `creation_timestamp_ms`, `expiration_timestamp_ms`.
        case scheduled
    }

    let issued: IssuedToken
    let shape: Shape

    var json: JSONValue {
        let keys =
            switch self.shape {
            case .onDemand: (token: "jwt", created: "creationTimestamp", expires: "expirationTimestamp")
            case .scheduled: (token: "token", created: "creation_timestamp_ms", expires: "expiration_timestamp_ms")
            }
        return .object([
            keys.created: .integer(Self.unixMilliseconds(self.issued.issuedAt)),
            keys.expires: .integer(Self.unixMilliseconds(self.issued.expiresAt)),
            "expires_in": .integer(self.issued.expiresIn.components.seconds),
            keys.token: .string(self.issued.token.compactSerialization),
            "refresh_after": .integer(self.issued.refreshAfter.components.seconds),
        ])
    }

    private static func unixMilliseconds(_ date: Date) -> Int64 {
        Int64((date.timeIntervalSince1970 * 1000).rounded(.down))
    }
}
