// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Tokens for a person who logged in with `gcloud auth application-default login` (AIP-4113).
///
/// The refresh token goes to Google's token endpoint whatever the file says.
struct AuthorizedUserSource: TokenSource {
    private static let service = "The token endpoint"

    let clientID: String
    let clientSecret: String
    let refreshToken: String
    let context: CredentialContext

    func fetch(scopes: [String]) async throws -> FetchedToken {
        var form = [
            ("grant_type", "refresh_token"), ("client_id", self.clientID), ("client_secret", self.clientSecret),
            ("refresh_token", self.refreshToken),
        ]
        if !scopes.isEmpty { form.append(("scope", scopes.joined(separator: " "))) }
        return try await self.context.exchange(with: Self.service) { [form] in
            OAuth.post(OAuth.tokenEndpoint, form: form)
        } read: {
            try FetchedToken(oauthAnswer: $0, from: Self.service)
        }
    }
}
