// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// How long a token may be used, counted from the start of the request that brought it.
///
/// The phone's date plays no part. In order of preference the life is what the server says in relative terms, unless
/// the `Date` of the answer shows that the server kept it and less is left of the token; or the end of the token less
/// that `Date`, both on the server's clock; or, when the answer has no `Date`, `exp − iat` less the 300 s by which a
/// careful server sets `iat` back. It is never longer than `exp − iat`, nor, when the server states an end, than until
/// that. Counting from the start of the request makes it err on the short side.
struct TokenLife: Sendable {
    /// How far `iat` is assumed to lie before the minting when nothing tells.
    private static let assumedBackdating: Int64 = 300

    let duration: Duration

    /// Works out a life.
    ///
    /// - Parameters:
    ///   - claims: The token's own times.
    ///   - stated: The expiry in the answer.
    ///   - answeredAt: The answer's `Date` in Unix seconds.
    ///   - age: How long a cache on the way kept the answer.
    /// - Throws: ``TokenClientError`` with `expired` when nothing is left.
    init(
        claims: TokenClaims, stated: (TokenAnswerFormat.Reference, Duration)?, answeredAt: Int64?, age: Duration
    ) throws(TokenClientError) {
        let lifetime = Duration.seconds(claims.expiresAt - claims.issuedAt)
        var end = Duration.seconds(claims.expiresAt)
        var life: Duration
        if case .unixEpoch = stated?.0, let instant = stated?.1 { end = min(end, instant) }
        // `Date` is cut off to whole seconds, so the answer may be up to one second younger than it says.
        let left = answeredAt.map { end - .seconds($0 + 1) }
        if case .answer = stated?.0, let relative = stated?.1 {
            life = relative
            if let left, left + .seconds(1) < relative { life = left }
        } else if let left {
            life = left
        } else {
            life = end - .seconds(claims.issuedAt + Self.assumedBackdating)
        }
        life = min(life, lifetime) - age
        guard life > .zero else {
            throw TokenClientError(
                code: .expired,
                message: "The token server sent a token whose life is over (iat \(claims.issuedAt), "
                    + "exp \(claims.expiresAt), \(life) left); check its clock, the unit of its expiry, and caches.",
                httpStatus: 200
            )
        }
        self.duration = life
    }
}
