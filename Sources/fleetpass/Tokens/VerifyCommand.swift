// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetSigning
import FleetTokens
import Foundation

/// `fleetpass verify`: whether trusted keys vouch for a token now.
struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verify a token with trusted keys.",
        discussion: """
            Example:  fleetpass verify - --keys http://127.0.0.1:8080/.well-known/jwks.json < token

            Keys may be a service account's key file, a JWKS, X.509 certificates by key id, a PEM key, a folder of \
            these, or an https URL. A data folder also tells which tokens are withdrawn, and of its keys those count that \
            `keys list` does not call retired.
            """
    )

    @OptionGroup var token: TokenArgument

    @Option(help: ArgumentHelp("Where the trusted keys are.", valueName: "file|folder|url"), completion: .file())
    var keys: String

    @Option(help: "How to print; json also tells why a token is refused.")
    var output: OutputFormat = .text

    func run() async throws {
        let token = try self.token.read()
        let verifier = try await KeysArgument(location: self.keys).verifier()
        let outcome: Result<ExaminedToken, TokenRefusal>
        do throws(TokenRefusal) {
            outcome = .success(try verifier.verify(token, at: Date()))
        } catch {
            outcome = .failure(error)
        }
        if self.output == .json { try Console.give(json: Report(outcome)) }
        switch outcome {
        case .success(let examined):
            guard self.output == .text else { return }
            Console.give(Self.line(examined))
            if !verifier.looksAtWithdrawals {
                Console.say("fleetpass: withdrawals were not looked at; a token server's data folder tells them.")
            }
        case .failure(let refusal): throw CommandFailure(status: .failed, message: "\(refusal)")
        }
    }

    private static func line(_ examined: ExaminedToken) -> String {
        let left = examined.claims.expiresAt - Int64(Date().timeIntervalSince1970)
        return "valid: \(examined.account.email.shown()) key \(examined.keyID.shown()) \(left) s left "
            + "\(examined.claims.authorization?.summary.shown() ?? "no claims")"
    }

    private struct Report: Encodable {
        struct Refusal: Encodable {
            let reason: String
            let message: String
            let fix: String
        }

        let valid: Bool
        let account: String?
        let keyID: String?
        let issuedAt: Int64?
        let expiresAt: Int64?
        let authorization: JSONValue?
        /// Absent of a token that is valid, as the members above are of one that is refused.
        let refusal: Refusal?

        init(_ outcome: Result<ExaminedToken, TokenRefusal>) {
            let examined = try? outcome.get()
            self.valid = examined != nil
            self.account = examined?.account.email
            self.keyID = examined?.keyID
            self.issuedAt = examined?.claims.issuedAt
            self.expiresAt = examined?.claims.expiresAt
            self.authorization = examined?.claims.authorization?.json
            if case .failure(let refusal) = outcome {
                self.refusal = Refusal(
                    reason: refusal.reason.rawValue, message: refusal.message, fix: refusal.fix)
            } else {
                self.refusal = nil
            }
        }
    }
}
