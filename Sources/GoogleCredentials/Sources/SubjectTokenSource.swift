// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens

/// Where the token of the other identity provider comes from.
protocol SubjectTokenSource: Sendable {
    /// The program that prints it, where one does.
    var program: TokenProgram? { get }

    /// Gets the token anew; it is not remembered.
    func subjectToken() async throws -> String
}

extension SubjectTokenSource {
    var program: TokenProgram? { nil }
}

/// How a file or an answer holds the token (AIP-4117).
enum SubjectTokenFormat: Sendable {
    /// The whole text is the token.
    case text
    /// The token is a member of a JSON object.
    case json(field: String)

    /// Finds the token.
    func token(in bytes: [UInt8], from origin: String) throws(CredentialError) -> String {
        let token: String? =
            switch self {
            case .text: String(validating: bytes, as: UTF8.self)
            case .json(let field): (try? JSONValue(parsing: bytes))?.object?[field]?.string
            }
        guard let token, !token.isEmpty else {
            throw CredentialError(
                code: .invalidAnswer,
                message: "\(origin) holds no subject token in the configured format; check \"credential_source\"."
            )
        }
        return token
    }
}

/// A token that another program keeps in a file.
struct FileSubject: SubjectTokenSource {
    let path: String
    let format: SubjectTokenFormat
    let context: CredentialContext

    func subjectToken() async throws -> String {
        let bytes: [UInt8]?
        do {
            bytes = try self.context.readFile(self.path)
        } catch {
            throw CredentialError(
                code: .unavailable, message: "The subject token file \(self.path) cannot be read.", cause: error)
        }
        guard let bytes else {
            throw CredentialError(code: .unavailable, message: "There is no subject token file \(self.path).")
        }
        return try self.format.token(in: bytes, from: "The subject token file \(self.path)")
    }
}

/// A token that a local server gives.
struct URLSubject: SubjectTokenSource {
    private static let service = "The subject token server"

    let url: String
    let headers: [(name: String, value: String)]
    let format: SubjectTokenFormat
    let context: CredentialContext

    func subjectToken() async throws -> String {
        // The exchange around it tries again.
        try await self.context.exchange(with: Self.service, policy: RetryPolicy(attempts: 1)) {
            UpstreamRequest(url: self.url, headers: self.headers)
        } read: {
            try self.format.token(in: $0.body, from: Self.service)
        }
    }
}
