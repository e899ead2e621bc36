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
}

/// Mints Fleet Engine tokens for one signing account.
///
/// The token is a function of claims, key and time alone: integer times, sorted keys, no white space. Each token is
/// verified with the public key before it is released, so that a broken signer never hands out garbage.
public struct TokenMinter: Sendable {
    private let signer: any TokenSigner
    private let window: MintingWindow
    private let checksBeforeRelease: Bool
    private let header: [UInt8]

    /// The account whose tokens are minted.
    public var account: String { self.signer.account }

    /// Makes a minter.
    ///
    /// - Parameters:
    ///   - signer: Signs for the account.
    ///   - window: The times of each token.
    ///   - checksBeforeRelease: Whether each token is verified with the signer's public key, where that is known.
    public init(signer: any TokenSigner, window: MintingWindow = .standard, checksBeforeRelease: Bool = true) {
        self.signer = signer
        self.window = window
        self.checksBeforeRelease = checksBeforeRelease
        var header: JSONObject = ["alg": .string("RS256"), "typ": .string("JWT")]
        if let keyID = signer.keyID { header["kid"] = .string(keyID) }
        self.header = Base64URL.encode(JSONValue.object(header).serialized)
    }

    /// Mints a token.
    ///
    /// - Parameters:
    ///   - authorization: What the token reaches; `nil` makes the plain self-signed token of an admin account.
    ///   - now: The time of minting.
    /// - Returns: The token and what it says.
    /// - Throws: ``SigningError`` with ``SigningError/Code/signingFailed`` or
    ///   ``SigningError/Code/releaseCheckFailed``; `CancellationError`.
    public func mint(_ authorization: AuthorizationClaims?, at now: Date) async throws -> MintedToken {
        let times = self.window.times(at: Int64(now.timeIntervalSince1970.rounded(.down)))
        let claims = TokenClaims(
            account: self.signer.account,
            issuedAt: times.issuedAt,
            expiresAt: times.expiresAt,
            authorization: authorization
        )
        let input = self.header + [UInt8(ascii: ".")] + Base64URL.encode(claims.payload)
        let signature = try await self.signer.sign(input)
        if self.checksBeforeRelease, let key = self.signer.publicKey {
            guard key.isValidSignature(signature.bytes, for: input) else {
                throw SigningError(
                    code: .releaseCheckFailed,
                    message: "A token of \(self.account) did not verify with its public key and was not released."
                )
            }
        }
        let compact = input + [UInt8(ascii: ".")] + Base64URL.encode(signature.bytes)
        return MintedToken(token: FleetToken(String(decoding: compact, as: UTF8.self)), claims: claims)
    }
}
