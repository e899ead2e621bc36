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

    var program: TokenProgram? { self.command.first.map { TokenProgram(path: $0, limit: self.limit) } }

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
        variables["GOOGLE_EXTERNAL_ACCOUNT_ID"] = self.impersonatedAccount ?? ""
        variables["GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE"] = "0"
        variables["GOOGLE_EXTERNAL_ACCOUNT_REVOKE"] = "0"
        variables["GOOGLE_EXTERNAL_ACCOUNT_IMPERSONATED_EMAIL"] = self.impersonatedAccount
        variables["GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE"] = self.outputFile
        var result = try await self.context.executables.run(self.command, variables: variables, limit: self.limit)
        if result.status == 0, result.output.isEmpty, let outputFile {
            result.output = (try? self.context.readFile(outputFile)) ?? []
        }
        let answer = try Answer(result)
        guard self.outputFile == nil || answer.expiresAt != nil else {
            throw CredentialError(
                code: .invalidConfiguration,
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
        // An earlier failure, an answer that has ended or one of another program's version is no reason not to run the
        // program again; one that lasts and breaks the format is an error that somebody must mend.
        guard let members = (try? JSONValue(parsing: bytes))?.object, members["success"] == .bool(true),
            members["version"].map({ $0 == Answer.version }) ?? true,
            members["token_type"]?.string.map(Answer.types.contains) ?? true,
            let end = members["expiration_time"]?.number, end > self.context.time.date.timeIntervalSince1970
        else { return nil }
        return try Answer(ExecutableResult(output: bytes)).token
    }

    private struct Answer {
        private static let saml = "urn:ietf:params:oauth:token-type:saml2"
        static let version = JSONValue.integer(1)
        static let types: Set = [
            saml, "urn:ietf:params:oauth:token-type:jwt", "urn:ietf:params:oauth:token-type:id_token",
        ]

        let token: String
        let expiresAt: TimeInterval?

        /// Reads what a program said; what it says wrongly is for somebody to mend, not to ask for again.
        init(_ result: ExecutableResult) throws(CredentialError) {
            let origin =
                result.status == 0
                ? "The executable's answer" : "The executable ended with status \(result.status), and its answer"
            func invalid(_ problem: String) -> CredentialError {
                CredentialError(code: .invalidConfiguration, message: "\(origin) \(problem).")
            }
            guard let members = (try? JSONValue(parsing: result.output))?.object else {
                throw invalid("is not a JSON object")
            }
            guard members["version"] == Self.version else { throw invalid("is not of version 1") }
            guard case .bool(let success) = members["success"] else {
                throw invalid("does not say whether it succeeded")
            }
            guard success else {
                let code = Self.word(members["code"])
                throw CredentialError(
                    code: .refused,
                    message: "The executable says that it could not get a token\(code.map { " (\($0))" } ?? "").",
                    reason: code)
            }
            guard result.status == 0 else { throw invalid("says that it succeeded") }
            guard let type = members["token_type"]?.string, Self.types.contains(type) else {
                throw invalid("has a token_type that is none of jwt, id_token and saml2")
            }
            let field = type == Self.saml ? "saml_response" : "id_token"
            guard let token = members[field]?.string, !token.isEmpty else { throw invalid("has no \(field)") }
            self.token = token
            switch members["expiration_time"] {
            case nil, .null: self.expiresAt = nil
            case let end?:
                guard let seconds = end.number, seconds.isFinite else {
                    throw invalid("has an expiration_time that is no number")
                }
                self.expiresAt = seconds
            }
        }

        /// A short word, such as an error's code; longer text may hold anything.
        private static func word(_ value: JSONValue?) -> String? {
            guard let word = value?.string ?? value?.integer.map({ String($0) }), (1...32).contains(word.utf8.count)
            else { return nil }
            let isPlain = word.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
            return isPlain ? word : nil
        }

        func hasEnded(at date: Date) -> Bool {
            self.expiresAt.map { $0 <= date.timeIntervalSince1970 } ?? false
        }
    }
}
