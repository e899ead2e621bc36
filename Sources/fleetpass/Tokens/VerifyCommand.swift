// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
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
            these, or an https URL.
            """
    )

    @OptionGroup var token: TokenArgument

    @Option(help: ArgumentHelp("Where the trusted keys are.", valueName: "file|folder|url"))
    var keys: String

    func run() async throws {
        let token = try self.token.read()
        let keys = try await KeysArgument(location: self.keys).read()
        do throws(TokenRefusal) {
            let examined = try TokenExaminer().examine(token, keys: keys, now: Date())
            let left = examined.claims.expiresAt - Int64(Date().timeIntervalSince1970)
            Console.give(
                "valid: \(examined.account.email) key \(examined.keyID) \(left) s left "
                    + "\(examined.claims.authorization?.summary ?? "no claims")"
            )
        } catch {
            throw CommandFailure(status: .failed, message: "\(error)")
        }
    }
}
