// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation

/// A token that a program prints (AIP-4117), which runs only where the environment allows it.
struct ExecutableSubject: SubjectTokenSource {
    static let defaultLimit: Duration = .seconds(30)
    static let limits: ClosedRange<Duration> = .seconds(5) ... .seconds(120)

    let command: [String]
    let limit: Duration
    let outputFile: String?
    let audience: String
    let subjectTokenType: String
    let impersonatedAccount: String?
    let context: CredentialContext

    func subjectToken() async throws -> String {
        guard self.context.variables["GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES"] == "1" else {
            throw CredentialError(
                code: .executableNotAllowed,
                message: "The credential file runs \(self.command.first ?? "a program"); if you trust the file, set"
                    + " GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1."
            )
        }
        if let token = try self.remembered() { return token }
        var variables = self.context.variables
        variables["GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE"] = self.audience
        variables["GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE"] = self.subjectTokenType
        variables["GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE"] = "0"
        variables["GOOGLE_EXTERNAL_ACCOUNT_IMPERSONATED_EMAIL"] = self.impersonatedAccount
        variables["GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE"] = self.outputFile
        let output = try await self.context.executables.run(self.command, variables: variables, limit: self.limit)
        let answer = try Answer(output, expectedType: self.subjectTokenType)
        guard self.outputFile == nil || answer.expiresAt != nil else {
            throw CredentialError(
                code: .invalidAnswer,
                message: "The executable's answer has no expiration_time, which an output file needs.")
        }
        guard !answer.hasEnded(at: self.context.time.date) else {
            throw CredentialError(code: .invalidAnswer, message: "The executable's token has ended.")
        }
        return answer.token
    }

    /// The token of an earlier run, where the output file holds one that has not ended.
    private func remembered() throws -> String? {
        guard let outputFile, let bytes = try? self.context.readFile(outputFile), !bytes.isEmpty else { return nil }
        // An earlier failure or an answer that has ended is no reason not to run the program again; an answer that
        // breaks the format is an error that somebody must mend.
        guard (try? JSONValue(parsing: bytes))?.object?["success"] == .bool(true) else { return nil }
        let answer = try Answer(bytes, expectedType: self.subjectTokenType)
        guard answer.expiresAt != nil, !answer.hasEnded(at: self.context.time.date) else { return nil }
        return answer.token
    }

    private struct Answer {
        let token: String
        let expiresAt: Int64?

        init(_ bytes: [UInt8], expectedType: String) throws(CredentialError) {
            func invalid(_ problem: String) -> CredentialError {
                CredentialError(code: .invalidAnswer, message: "The executable's answer \(problem).")
            }
            guard let members = (try? JSONValue(parsing: bytes))?.object else { throw invalid("is not a JSON object") }
            guard members["version"] == .integer(1) else { throw invalid("is not of version 1") }
            guard case .bool(let success) = members["success"] else {
                throw invalid("does not say whether it succeeded")
            }
            guard success else {
                throw CredentialError(code: .refused, message: "The executable says that it could not get a token.")
            }
            guard let type = members["token_type"]?.string, type == expectedType else {
                throw invalid("holds another type of token than the credential file names")
            }
            let field = type == "urn:ietf:params:oauth:token-type:saml2" ? "saml_response" : "id_token"
            guard let token = members[field]?.string, !token.isEmpty else { throw invalid("has no \(field)") }
            self.token = token
            self.expiresAt = members["expiration_time"]?.integer
        }

        func hasEnded(at date: Date) -> Bool {
            self.expiresAt.map { Double($0) <= date.timeIntervalSince1970 } ?? false
        }
    }
}
