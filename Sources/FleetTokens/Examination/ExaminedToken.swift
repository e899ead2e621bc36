// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A token that met every rule of its own; what it may do is decided by ``AccessRequest``.
///
/// It is handed from call to call for as long as the token lives, so its parts are kept together and are not copied.
public struct ExaminedToken: Hashable, Sendable {
    private final class Parts: Sendable {
        let claims: TokenClaims
        let account: TrustedAccount
        let keyID: String
        let trustedKeyID: String
        let hash: Int
        let lastingDeviations: DeviationSet

        init(
            claims: TokenClaims, account: TrustedAccount, keyID: String, trustedKeyID: String,
            lastingDeviations: DeviationSet
        ) {
            self.claims = claims
            self.account = account
            self.keyID = keyID
            self.trustedKeyID = trustedKeyID
            var hasher = Hasher()
            hasher.combine(keyID)
            hasher.combine(claims.issuedAt)
            hasher.combine(claims.authorization)
            self.hash = hasher.finalize()
            self.lastingDeviations = lastingDeviations
        }
    }

    private let parts: Parts

    /// The payload.
    public var claims: TokenClaims { self.parts.claims }
    /// The account that signed; role and provider are `nil` where the key's source does not say.
    public var account: TrustedAccount { self.parts.account }
    /// The id of the key that signed, as the token names it where it does.
    public var keyID: String { self.parts.keyID }
    /// The id under which the key is trusted: not ``keyID`` where the key has no id of its own, as a PEM text has none.
    public var trustedKeyID: String { self.parts.trustedKeyID }

    // Read at every call, where a copy of all claims would cost more than the check.
    var issuedAt: Int64 { self.parts.claims.issuedAt }
    var notBefore: Int64? { self.parts.claims.notBefore }
    var expiresAt: Int64 { self.parts.claims.expiresAt }
    var lastingDeviations: DeviationSet { self.parts.lastingDeviations }

    /// Vouches for claims, as a verifier of one's own does; nothing is checked.
    ///
    /// - Parameters:
    ///   - claims: The payload.
    ///   - account: The account that signed, with what it may do and for which provider.
    ///   - keyID: The id of the key that signed, which is also the one that it is trusted under.
    public init(claims: TokenClaims, account: TrustedAccount, keyID: String) {
        self.init(claims: claims, account: account, keyID: keyID, trustedKeyID: nil, lastingDeviations: [])
    }

    init(
        claims: TokenClaims, account: TrustedAccount, keyID: String, trustedKeyID: String?,
        lastingDeviations: DeviationSet
    ) {
        self.parts = Parts(
            claims: claims, account: account, keyID: keyID, trustedKeyID: trustedKeyID ?? keyID,
            lastingDeviations: lastingDeviations)
    }

    /// Whether two tokens say the same and the same key vouches for them.
    public static func == (first: Self, second: Self) -> Bool {
        first.parts === second.parts
            || (first.keyID == second.keyID && first.trustedKeyID == second.trustedKeyID
                && first.account == second.account && first.claims == second.claims)
    }

    /// Hashes what tells tokens apart, which was computed once.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.parts.hash)
    }
}
