// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Tokens for an identity of another cloud or identity provider, exchanged at the security token service (AIP-4117).
struct ExternalAccountSource: TokenSource {
    private static let service = "The security token service"

    let audience: String
    let subjectTokenType: String
    let tokenURL: String
    let subject: any SubjectTokenSource
    let client: ClientAuthentication?
    /// The project that a person of a workforce pool is billed to; not sent where a client authenticates.
    let workforceProject: String?
    let context: CredentialContext

    var program: TokenProgram? { self.subject.program }

    func fetch(scopes: [String]) async throws -> FetchedToken {
        let token = Ingredient(name: "The subject token", program: self.program)
        return try await self.context.exchange(with: Self.service, using: token) {
            var form = [
                ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
                ("audience", self.audience),
                ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
                ("subject_token_type", self.subjectTokenType),
                ("subject_token", try await self.subject.subjectToken()),
            ]
            if !scopes.isEmpty { form.append(("scope", scopes.joined(separator: " "))) }
            if let project = self.workforceProject, self.client == nil {
                let options = JSONValue.object(["userProject": .string(project)]).serialized
                form.append(("options", PercentCoding.encode(String(decoding: options, as: UTF8.self))))
            }
            return OAuth.post(self.tokenURL, form: form, headers: self.client.map { [$0.header] } ?? [])
        } read: {
            try FetchedToken(oauthAnswer: $0, from: Self.service)
        }
    }
}
