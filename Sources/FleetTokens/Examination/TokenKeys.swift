// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A service account whose signature is trusted, and what it may sign for.
public struct TrustedAccount: Hashable, Sendable {
    /// The account's e-mail, which its tokens name as `iss` and `sub`.
    public var email: String
    /// The account's role; `nil` where only the signature matters, or where ``granted`` says all.
    public var role: Role?
    /// The provider the account belongs to; `nil` where only the signature matters.
    public var provider: ProviderID?
    /// What the account may do where that is not what ``role`` permits: several roles, or a custom one.
    public var granted: Set<Permission>?
    /// The roles of the service that the account has: ``role`` alone, several, or those that a custom one includes.
    public var roles: Set<Role>

    /// Whether it is known what the account may do.
    var isGranted: Bool { self.role != nil || self.granted != nil }

    /// What the account may do.
    public var permissions: Set<Permission> { self.granted ?? self.role?.permissions ?? [] }

    /// Describes an account; without `roles` it has its role alone.
    public init(
        email: String, role: Role? = nil, provider: ProviderID? = nil, granted: Set<Permission>? = nil,
        roles: Set<Role>? = nil
    ) {
        self.email = email
        self.role = role
        self.provider = provider
        self.granted = granted
        self.roles = roles ?? role.map { [$0] } ?? []
    }
}

/// One public key that checks signatures.
public protocol TokenKey: Sendable {
    /// The key's id as tokens name it (`kid`).
    var id: String { get }
    /// The only account whose tokens the key may check; `nil` where the key's source does not say.
    var account: TrustedAccount? { get }
    /// Whether the RS256 signature fits the message.
    func isValidSignature(_ signature: [UInt8], for message: [UInt8]) -> Bool
}

/// Finds the keys that may have signed a token.
public protocol TokenKeys: Sendable {
    /// The keys with this id. One is normal; a list, so that two accounts cannot displace each other's key.
    func keys(withID id: String) -> [any TokenKey]
    /// The keys of this account, newest first.
    func keys(ofAccount email: String) -> [any TokenKey]
    /// The keys of this account, or of none in particular, that have no id of their own, as a PEM text has none: a token
    /// may name them by any id.
    func unnamedKeys(ofAccount email: String) -> [any TokenKey]
    /// How many keys a token is tried with at most.
    var maximumCandidates: Int { get }
}

extension TokenKeys {
    /// ``TokenExaminer/maximumCandidates``.
    public var maximumCandidates: Int { TokenExaminer.maximumCandidates }
    /// No keys: by default each has an id.
    public func unnamedKeys(ofAccount email: String) -> [any TokenKey] { [] }
}

/// The time rules of a Fleet Engine token (JWT guide), and the clock slack allowed on top.
public struct TokenTimeRules: Hashable, Sendable {
    /// How far `iat` may lie ahead of the verifier's clock: 10 minutes.
    public var issuedAtTolerance: Duration
    /// How far ahead `exp` may lie: 1 hour.
    public var maximumLifetime: Duration
    /// Slack on `exp` in both directions; zero, as the service documents none.
    public var leeway: Duration

    /// Makes rules; the defaults are the documented ones.
    public init(
        issuedAtTolerance: Duration = .seconds(600),
        maximumLifetime: Duration = .seconds(3600),
        leeway: Duration = .zero
    ) {
        self.issuedAtTolerance = issuedAtTolerance
        self.maximumLifetime = maximumLifetime
        self.leeway = leeway
    }
}

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
