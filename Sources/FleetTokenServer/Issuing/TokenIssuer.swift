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
}

/// Issues tokens: one signing account for each role.
public struct TokenIssuer: Sendable {
    private let minter: @Sendable (_ role: Role, _ time: Date) -> TokenMinter?
    private let now: @Sendable () -> Date

    /// Makes an issuer.
    ///
    /// - Parameters:
    ///   - minters: The minter of each role that is served.
    ///   - now: The clock.
    public init(minters: [Role: TokenMinter], now: @escaping @Sendable () -> Date = { Date() }) {
        self.init(now: now) { role, _ in minters[role] }
    }

    /// Makes an issuer whose keys change with time.
    ///
    /// - Parameters:
    ///   - now: The clock.
    ///   - minter: The minter of a role at a time, or `nil` where the role is not served.
    public init(
        now: @escaping @Sendable () -> Date = { Date() },
        minter: @escaping @Sendable (_ role: Role, _ time: Date) -> TokenMinter?
    ) {
        self.minter = minter
        self.now = now
    }

    /// Issues a token.
    ///
    /// - Parameter type: What the token is for.
    /// - Returns: The token with its times.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/roleNotServed``, `SigningError`, or
    ///   `CancellationError`.
    public func issue(_ type: TokenType) async throws -> IssuedToken {
        let now = self.now()
        guard let minter = self.minter(type.role, now) else {
            throw TokenServerError(
                code: .roleNotServed,
                message: "No signer is set up for the role \(type.role); add its service account."
            )
        }
        let claims = try type.claims
        let minted = try await minter.mint(claims, at: now)
        let expiresAt = Date(timeIntervalSince1970: TimeInterval(minted.claims.expiresAt))
        let expiresIn = Duration.seconds(minted.claims.expiresAt - Int64(now.timeIntervalSince1970.rounded(.up)))
        return IssuedToken(
            token: minted.token,
            issuedAt: now,
            expiresAt: expiresAt,
            expiresIn: expiresIn,
            refreshAfter: Self.refreshAfter(spreadBy: claims.summary, expiresIn: expiresIn),
            keyID: minted.keyID
        )
    }

    /// When to refresh: 30 to 45 minutes from now, spread by a hash of what the token is for.
    ///
    /// A fleet that starts its shift in one minute then comes back over a quarter of an hour, not in one minute again.
    /// A token with less life is refreshed 5 minutes before its end at the latest.
    static func refreshAfter(spreadBy subject: String, expiresIn: Duration) -> Duration {
        let hash = SHA256.hash(data: Data(subject.utf8)).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let spread = Duration.seconds(1800 + Int64(hash % 901))
        return max(.zero, min(spread, expiresIn - .seconds(300)))
    }
}
