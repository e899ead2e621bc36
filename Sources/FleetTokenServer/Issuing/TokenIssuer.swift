// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
public import FleetSigning
public import FleetTokens
public import Foundation

/// A token as it is handed to an app.
public struct IssuedToken: Sendable {
    /// The token, a secret.
    public let token: FleetToken
    /// When it was issued.
    public let issuedAt: Date
    /// When it ends.
    public let expiresAt: Date
    /// How long it can be used from now.
    public let expiresIn: Duration
    /// When the app should fetch the next one, from now.
    public let refreshAfter: Duration
    /// The id of the key that signed, where the token says.
    public let keyID: String?

    /// Describes a token, as for a fake in tests.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - issuedAt: When it was issued.
    ///   - expiresAt: When it ends.
    ///   - expiresIn: How long it can be used from now.
    ///   - refreshAfter: When the app should fetch the next one, from now.
    ///   - keyID: The id of the key that signed.
    public init(
        token: FleetToken, issuedAt: Date, expiresAt: Date, expiresIn: Duration, refreshAfter: Duration,
        keyID: String? = nil
    ) {
        self.token = token
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.expiresIn = expiresIn
        self.refreshAfter = refreshAfter
        self.keyID = keyID
    }
}

/// Issues tokens: one signing account for each role.
public struct TokenIssuer: Sendable {
    /// Mints a token for a role at a time; gives `nil` where the role is not served.
    public typealias Mint =
        @Sendable (_ claims: AuthorizationClaims, _ role: Role, _ time: Date) async throws ->
        MintedToken?

    private let mint: Mint
    private let spreadsWider: @Sendable () -> Bool
    private let now: @Sendable () -> Date

    /// Makes an issuer.
    ///
    /// - Parameters:
    ///   - minters: The minter of each role that is served.
    ///   - now: The clock.
    public init(minters: [Role: TokenMinter], now: @escaping @Sendable () -> Date = { Date() }) {
        self.init(now: now) { claims, role, time in try await minters[role]?.mint(claims, at: time) }
    }

    /// Makes an issuer of another way of minting, which must itself see to it that nothing withdrawn is handed out again.
    ///
    /// - Parameters:
    ///   - now: The clock.
    ///   - spreadsWider: Whether apps should come back over a longer time, as when few signatures are left.
    ///   - mint: Mints the tokens.
    public init(
        now: @escaping @Sendable () -> Date = { Date() }, spreadsWider: @escaping @Sendable () -> Bool = { false },
        mint: @escaping Mint
    ) {
        self.mint = mint
        self.spreadsWider = spreadsWider
        self.now = now
    }

    /// Makes an issuer of what signers and the keys of a folder sign; nothing goes out that is withdrawn.
    ///
    /// A token for everything of a kind is one for all callers: when it is withdrawn from one of them, the next caller gets
    /// another.
    ///
    /// - Parameters:
    ///   - signers: The signers of the roles that do not simply sign with the folder's keys, if any.
    ///   - keys: The folder's keys, for the other roles, if any.
    ///   - revocations: What is withdrawn, of which signers and keys are to know too.
    ///   - now: The clock.
    public init(
        signers: ConfiguredSigners? = nil, keys: SigningKeys? = nil, revocations: RevocationList,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(now: now, spreadsWider: { signers?.isBudgetLow ?? false }) { claims, role, time in
            // A shared token that was withdrawn from one is nobody's any more. What a key signs twice in a second is one
            // token, so whose token is withdrawn within that second gets the one of a second before.
            for (isShared, earlier) in [(true, 0.0), (false, 0), (false, 1), (false, 2)] {
                let time = time - earlier
                var minted = try await signers?.mint(claims, as: role, at: time, isShared: isShared)
                if minted == nil {
                    minted = try await keys?.mint(claims, as: role, at: time, isShared: isShared)
                }
                guard let token = minted, revocations.holds(token) else { return minted }
            }
            throw SigningError(
                code: .signingFailed, message: "What was signed for the role \(role) is withdrawn already; ask again.")
        }
    }

    /// Issues a token.
    ///
    /// - Parameter type: What the token is for.
    /// - Returns: The token with its times.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/roleNotServed``, `SigningError`, or
    ///   `CancellationError`.
    public func issue(_ type: TokenType) async throws -> IssuedToken {
        let now = self.now()
        let claims = try type.claims
        guard let minted = try await self.mint(claims, type.role, now) else {
            throw TokenServerError(
                code: .roleNotServed,
                message: "No signer is set up for the role \(type.role); add its key file to the key folder, or its "
                    + "account under signers."
            )
        }
        let expiresAt = Date(timeIntervalSince1970: TimeInterval(minted.claims.expiresAt))
        let expiresIn = Duration.seconds(minted.claims.expiresAt - Int64(now.timeIntervalSince1970.rounded(.up)))
        return IssuedToken(
            token: minted.token,
            issuedAt: now,
            expiresAt: expiresAt,
            expiresIn: expiresIn,
            refreshAfter: Self.refreshAfter(
                spreadBy: claims.summary, isWide: self.spreadsWider(), expiresIn: expiresIn),
            keyID: minted.keyID
        )
    }

    /// When to refresh: 30 to 45 minutes from now, spread by a hash of what the token is for.
    ///
    /// A fleet that starts its shift in one minute then comes back over a quarter of an hour, not in one minute again.
    /// When signatures run low it comes back over 25 to 50 minutes: no oftener in the mean, and to each minute at most
    /// three fifths as often. A token with less life is refreshed 5 minutes before its end at the latest.
    static func refreshAfter(spreadBy subject: String, isWide: Bool, expiresIn: Duration) -> Duration {
        let hash = SHA256.hash(data: Array(subject.utf8)).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let range: ClosedRange<Int64> = isWide ? 1500...3000 : 1800...2700
        let spread = Duration.seconds(range.lowerBound + Int64(hash % UInt64(range.count)))
        return max(.zero, min(spread, expiresIn - .seconds(300)))
    }
}
