// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Tokens for a service account that another identity may act as (`generateAccessToken`).
struct ImpersonatedSource: TokenSource {
    let source: GoogleCredential
    let account: String
    let delegates: [String]
    let lifetime: Duration
    let universe: String
    /// The host of the IAM credentials service that the credential file names.
    let host: String
    let context: CredentialContext

    var program: TokenProgram? { self.source.source.program }

    func fetch(scopes: [String]) async throws -> FetchedToken {
        guard !scopes.isEmpty else {
            throw CredentialError(
                code: .invalidConfiguration,
                message: "An impersonated account's access token needs a scope; ask for one."
            )
        }
        let client = IAMCredentialsClient(
            credential: self.source, universe: self.universe, context: self.context, host: self.host)
        return try await client.generateAccessToken(
            for: self.account, delegates: self.delegates, scopes: scopes, lifetime: self.lifetime)
    }
}
