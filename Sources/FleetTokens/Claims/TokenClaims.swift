// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// The whole payload of a Fleet Engine token.
public struct TokenClaims: Hashable, Sendable {
    /// The audience of every Fleet Engine token, final slash included (JWT guide).
    public static let audience = "https://fleetengine.googleapis.com/"

    /// The signing service account's e-mail; `iss`.
    public var issuer: String
    /// The same e-mail again; `sub`.
    public var subject: String
    /// Whom the token is for; `aud`, ``audience`` for Fleet Engine.
    public var audience: String
    /// When the token was made, in Unix seconds; `iat`.
    public var issuedAt: Int64
    /// When the token ends, in Unix seconds; `exp`.
    public var expiresAt: Int64
    /// Before when the token is not to be used, in Unix seconds; `nbf`, which Fleet Engine's tokens do without.
    public var notBefore: Int64?
    /// What the token reaches; `authorization`, absent in a plain self-signed token of an admin account.
    public var authorization: AuthorizationClaims?

    /// Makes a payload with the audience of Fleet Engine.
    public init(
        account: String,
        issuedAt: Int64,
        expiresAt: Int64,
        authorization: AuthorizationClaims?
    ) {
        self.issuer = account
        self.subject = account
        self.audience = Self.audience
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.authorization = authorization
    }

    /// The payload as JSON with sorted keys and integer times, the same bytes for the same claims.
    package var payload: [UInt8] {
        JSONValue.object([
            "aud": .string(self.audience),
            "authorization": self.authorization?.json,
            "exp": .integer(self.expiresAt),
            "iat": .integer(self.issuedAt),
            "iss": .string(self.issuer),
            "nbf": self.notBefore.map(JSONValue.integer),
            "sub": .string(self.subject),
        ]).serialized
    }
}
