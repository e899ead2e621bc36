// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Tokens for a person of a workforce pool who logged in with `gcloud`; the token service may replace the refresh token.
///
/// Exchanges are made one after the other: a refresh token may end with its first use, and the latest answer holds the
/// one that is good.
final class ExternalAuthorizedUserSource: TokenSource {
    private static let service = "The security token service"

    private struct State: Sendable {
        var refreshToken: String
        /// The exchange that was asked for last.
        var last: Task<FetchedToken, any Error>?
    }

    private let tokenURL: String
    private let client: ClientAuthentication
    private let state: Locked<State>
    private let context: CredentialContext

    init(tokenURL: String, client: ClientAuthentication, refreshToken: String, context: CredentialContext) {
        self.tokenURL = tokenURL
        self.client = client
        self.state = Locked(State(refreshToken: refreshToken))
        self.context = context
    }

    func fetch(scopes: [String]) async throws -> FetchedToken {
        let exchange = self.state.withLock { state in
            // Unstructured on purpose: whoever comes next needs the refresh token of this answer.
            let exchange = Task { [previous = state.last] in
                _ = await previous?.result
                return try await self.exchange()
            }
            state.last = exchange
            return exchange
        }
        return try await exchange.value
    }

    private func exchange() async throws -> FetchedToken {
        try await self.context.exchange(with: Self.service) {
            OAuth.post(
                self.tokenURL,
                form: [
                    ("grant_type", "refresh_token"), ("refresh_token", self.state.withLock { $0.refreshToken }),
                ],
                headers: [self.client.header])
        } read: { response in
            let fetched = try FetchedToken(oauthAnswer: response, from: Self.service)
            if let replacement = try FetchedToken.object(response, from: Self.service)["refresh_token"]?.string,
                !replacement.isEmpty
            {
                self.state.withLock { $0.refreshToken = replacement }
            }
            return fetched
        }
    }
}
