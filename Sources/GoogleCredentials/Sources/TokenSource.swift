// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// A way to get access tokens; it fetches one at each call and remembers nothing.
protocol TokenSource: Sendable {
    /// How long a program that it runs may take, beside requests over a network.
    var programLimit: Duration { get }

    /// Fetches a token.
    ///
    /// - Parameter scopes: What the token is for; some sources have fixed scopes and ignore it.
    /// - Returns: The token and how long it lasts.
    /// - Throws: ``CredentialError``; `CancellationError`.
    func fetch(scopes: [String]) async throws -> FetchedToken
}

extension TokenSource {
    var programLimit: Duration { .zero }
}

/// The endpoints and words of OAuth 2.0 that several sources share.
enum OAuth {
    static let tokenEndpoint = "https://oauth2.googleapis.com/token"
    static let defaultUniverse = "googleapis.com"
    static let iamScope = "https://www.googleapis.com/auth/iam"
    static let cloudPlatformScope = "https://www.googleapis.com/auth/cloud-platform"

    /// A request with a form as its body.
    static func post(
        _ url: String, form: [(String, String)], headers: [(name: String, value: String)] = []
    ) -> CredentialsRequest {
        let body = form.map { "\($0.0.percentEncodedForURL)=\($0.1.percentEncodedForURL)" }.joined(separator: "&")
        return CredentialsRequest(
            method: "POST", url: url,
            headers: [("Content-Type", "application/x-www-form-urlencoded")] + headers, body: Array(body.utf8))
    }
}
