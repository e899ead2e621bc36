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

    /// Explains what becomes of a token, for people to read; a verifier that cannot tell looks at the claims alone.
    ///
    /// - Parameters:
    ///   - token: The compact JWS.
    ///   - request: The call it came with, where that was read.
    ///   - now: The time to judge by.
    /// - Returns: One check for each rule.
    func explain(_ token: String, request: AccessRequest?, at now: Date) -> TokenExplanation
}

extension TokenVerifying {
    /// Explains by what the token says of itself.
    public func explain(_ token: String, request: AccessRequest?, at now: Date) -> TokenExplanation {
        TokenExaminer().explain(token, request: request, keys: nil, now: now)
    }
}

extension TokenVerifier: TokenVerifying {}
