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

    /// Asks for the key of a token that was refused because its key is not known, or not as one of its account's.
    ///
    /// - Parameter token: The compact JWS, of which nothing is believed.
    /// - Returns: Whether it is worth verifying once more, now or later.
    func learnKey(of token: String) async -> KeyLookup

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
    /// Nothing can be learned where the keys are given.
    public func learnKey(of token: String) async -> KeyLookup { .unknown }

    /// Explains by what the token says of itself.
    public func explain(_ token: String, request: AccessRequest?, at now: Date) -> TokenExplanation {
        TokenExaminer().explain(token, request: request, keys: nil, now: now)
    }
}

extension TokenVerifier: TokenVerifying {}

extension AccountTrust: TokenVerifying {
    /// Checks a token with the keys of the trusted accounts and the verifier's own.
    public func verify(_ token: String, at now: Date) throws(TokenRefusal) -> ExaminedToken {
        try self.verifier.verify(token, at: now)
    }

    /// Explains what becomes of a token with the same keys.
    public func explain(_ token: String, request: AccessRequest?, at now: Date) -> TokenExplanation {
        self.verifier.explain(token, request: request, at: now)
    }
}
