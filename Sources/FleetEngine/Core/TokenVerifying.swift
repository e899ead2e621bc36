// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
public import FleetTokens
public import Foundation

/// Decides whether a token is good; what it may do is decided afterwards.
public protocol TokenVerifying: Sendable {
    /// Checks a token.
    ///
    /// - Parameters:
    ///   - token: The compact JWS.
    ///   - now: The time to judge by.
    /// - Returns: The claims, and the account that vouches for them.
    /// - Throws: ``TokenRefusal`` with the first rule the token breaks.
    func verify(_ token: String, at now: Date) throws(TokenRefusal) -> ExaminedToken
}

extension TokenVerifier: TokenVerifying {}
