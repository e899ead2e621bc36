// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens

/// A program that is run for a token.
struct TokenProgram: Sendable {
    /// Its path.
    let path: String
    /// How long one run may take.
    let limit: Duration
}

/// A way to get access tokens; it fetches one at each call and remembers nothing.
protocol TokenSource: Sendable {
    /// The program that it runs, where it runs one.
    var program: TokenProgram? { get }

    /// Fetches a token.
    ///
    /// - Parameter scopes: What the token is for; some sources have fixed scopes and ignore it.
    /// - Returns: The token and how long it lasts.
    /// - Throws: ``CredentialError``; `CancellationError`.
    func fetch(scopes: [String]) async throws -> FetchedToken
}

extension TokenSource {
    var program: TokenProgram? { nil }
}

/// The endpoints and words of OAuth 2.0 that several sources share.
enum OAuth {
    static let tokenEndpoint = "https://oauth2.googleapis.com/token"
    static let defaultUniverse = "googleapis.com"
    static let iamScope = "https://www.googleapis.com/auth/iam"

    /// A request with a form as its body.
    static func post(
        _ url: String, form: [(String, String)], headers: [(name: String, value: String)] = []
    ) -> UpstreamRequest {
        let body = form.map { "\(PercentCoding.encode($0.0))=\(PercentCoding.encode($0.1))" }.joined(separator: "&")
        return UpstreamRequest(
            method: "POST", url: url,
            headers: [("Content-Type", "application/x-www-form-urlencoded")] + headers, body: Array(body.utf8))
    }
}
