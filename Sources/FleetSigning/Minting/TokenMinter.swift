// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
public import Foundation

/// A token as it was minted, with what its receiver needs to know.
public struct MintedToken: Hashable, Sendable {
    /// The token, a secret.
    public let token: FleetToken
    /// What it says.
    public let claims: TokenClaims
    /// The id of the key that signed, where the token says.
    public let keyID: String?

    /// Describes a token that was minted in another way than with a ``TokenMinter``; nothing is checked.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - claims: What it says.
    ///   - keyID: The id of the key that signed, where the token says.
    public init(token: FleetToken, claims: TokenClaims, keyID: String?) {
        self.token = token
        self.claims = claims
        self.keyID = keyID
    }
}

/// Mints Fleet Engine tokens for one signing account.
///
/// What is signed is a function of claims and time alone: integer times, sorted keys, no white space. Each token is
/// checked before it is released, so that a broken signer never hands out garbage.
public struct TokenMinter: Sendable {
    private let signer: any PayloadSigner
    private let window: MintingWindow
    private let checksBeforeRelease: Bool

    /// Makes a minter.
    ///
    /// - Parameters:
    ///   - signer: Signs for the account.
    ///   - window: The times of each token.
    ///   - checksBeforeRelease: Whether each token is compared with what was to be signed, and verified with the
    ///     signer's public key where that is known.
    public init(signer: any PayloadSigner, window: MintingWindow = .standard, checksBeforeRelease: Bool = true) {
        self.signer = signer
        self.window = window
        self.checksBeforeRelease = checksBeforeRelease
    }

    /// Mints a token.
    ///
    /// - Parameters:
    ///   - authorization: What the token reaches; `nil` makes the plain self-signed token of an admin account.
    ///   - now: The time of minting.
    /// - Returns: The token and what it says.
    /// - Throws: ``SigningError`` with ``SigningError/Code/signingFailed``, ``SigningError/Code/releaseCheckFailed`` or
    ///   ``SigningError/Code/tokenTooLong``; `CancellationError`.
    public func mint(_ authorization: AuthorizationClaims?, at now: Date) async throws -> MintedToken {
        let times = self.window.times(at: Int64(now.timeIntervalSince1970.rounded(.down)))
        let claims = TokenClaims(
            account: self.signer.account,
            issuedAt: times.issuedAt,
            expiresAt: times.expiresAt,
            authorization: authorization
        )
        let payload = claims.payload
        let signed = try await self.signer.sign(payload: payload)
        let parts =
            self.checksBeforeRelease
            ? try signed.check(against: payload) : try? CompactJWS(signed.token.compactSerialization)
        return MintedToken(token: signed.token, claims: claims, keyID: parts?.keyID)
    }
}
