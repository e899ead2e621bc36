// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetSigning
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

    /// Asks for the key of a token that was refused because its key is not known.
    ///
    /// - Parameter token: The compact JWS, of which nothing is believed.
    /// - Returns: Whether it is worth verifying once more.
    func learnKey(of token: String) async -> Bool
}

extension TokenVerifying {
    /// Nothing can be learned where the keys are given.
    public func learnKey(of token: String) async -> Bool { false }
}

extension TokenVerifier: TokenVerifying {}

extension AccountTrust: TokenVerifying {
    /// Checks a token with the keys of the trusted accounts and the verifier's own.
    public func verify(_ token: String, at now: Date) throws(TokenRefusal) -> ExaminedToken {
        try self.verifier.verify(token, at: now)
    }
}
