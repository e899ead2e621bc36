// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Tokens for a person of a workforce pool who logged in with `gcloud`; the token service may replace the refresh token.
final class ExternalAuthorizedUserSource: TokenSource {
    private static let service = "The security token service"

    private let tokenURL: String
    private let client: ClientAuthentication
    private let refreshToken: Locked<String>
    private let context: CredentialContext

    init(tokenURL: String, client: ClientAuthentication, refreshToken: String, context: CredentialContext) {
        self.tokenURL = tokenURL
        self.client = client
        self.refreshToken = Locked(refreshToken)
        self.context = context
    }

    func fetch(scopes: [String]) async throws -> FetchedToken {
        try await self.context.exchange(with: Self.service) {
            OAuth.post(
                self.tokenURL,
                form: [
                    ("grant_type", "refresh_token"), ("refresh_token", self.refreshToken.withLock { $0 }),
                ],
                headers: [self.client.header])
        } read: { response in
            let fetched = try FetchedToken(oauthAnswer: response, from: Self.service)
            if let replacement = try FetchedToken.object(response, from: Self.service)["refresh_token"]?.string,
                !replacement.isEmpty
            {
                self.refreshToken.withLock { $0 = replacement }
            }
            return fetched
        }
    }
}
