// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation

/// Tokens for a service account whose private key is at hand.
///
/// The key signs an assertion that the token endpoint exchanges (AIP-4112). In a universe that has no such exchange, the
/// signed token itself is the access token (AIP-4111); it names the scopes and no audience, and lasts exactly an hour.
struct ServiceAccountSource: TokenSource {
    private static let service = "The token endpoint"
    /// How far `iat` is set back, against clocks that differ.
    private static let backdating: Int64 = 10
    private static let lifetime: Int64 = 3600

    let key: ServiceAccountKey
    let tokenEndpoint: String
    let universe: String
    let context: CredentialContext

    func fetch(scopes: [String]) async throws -> FetchedToken {
        guard !scopes.isEmpty else {
            throw CredentialError(
                code: .invalidConfiguration,
                message: "A service account's access token needs a scope; ask for one."
            )
        }
        let scope = scopes.joined(separator: " ")
        guard self.universe == OAuth.defaultUniverse else {
            return try await self.selfSigned(["scope": .string(scope), "sub": .string(self.key.account)])
        }
        return try await self.context.exchange(with: Self.service) {
            let assertion = try await self.sign(["scope": .string(scope), "aud": .string(OAuth.tokenEndpoint)])
            return OAuth.post(
                self.tokenEndpoint,
                form: [
                    ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
                    ("assertion", assertion.compactSerialization),
                ])
        } read: {
            try FetchedToken(oauthAnswer: $0, from: Self.service)
        }
    }

    private func selfSigned(_ claims: JSONObject) async throws -> FetchedToken {
        let token = try await self.sign(claims).compactSerialization
        return try FetchedToken(token, life: .seconds(Self.lifetime - Self.backdating), from: "The account's own key")
    }

    private func sign(_ claims: JSONObject) async throws -> FleetToken {
        var claims = claims
        let issuedAt = Int64(self.context.time.date.timeIntervalSince1970.rounded(.down)) - Self.backdating
        claims["iss"] = .string(self.key.account)
        claims["iat"] = .integer(issuedAt)
        claims["exp"] = .integer(issuedAt + Self.lifetime)
        return try await LocalSigner(self.key).sign(payload: JSONValue.object(claims).serialized).token
    }
}
