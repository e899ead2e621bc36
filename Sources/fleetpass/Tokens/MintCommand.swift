// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetSigning
import FleetTokens
import Foundation

/// `fleetpass mint`: a token from a service account's key file.
struct MintCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mint",
        abstract: "Mint a token with a service account's key.",
        discussion: """
            Example:  fleetpass mint --key data/service-accounts/driver.json --role driver --vehicle veh-3

            The role says which ids are needed: consumer --trip; driver --vehicle; delivery_consumer --tracking (or \
            --task); delivery_untrusted_driver --delivery-vehicle; delivery_trusted_driver --delivery-vehicle \
            [--task]. server, fleet_reader, delivery_fleet_reader and delivery_server reach everything unless ids \
            narrow them; delivery_server with --batch-task makes a token for creating these tasks. ondemand_admin and \
            delivery_admin tokens carry no claims.
            """
    )

    @Option(help: ArgumentHelp("The service account's key file, in Google's JSON format.", valueName: "file"))
    var key: String

    @Option(
        help: ArgumentHelp(
            "The role whose token to mint: \(Role.known.map(\.rawValue).joined(separator: ", ")).",
            valueName: "role"))
    var role: String

    @OptionGroup var ids: TokenIDs

    @Option(help: "text prints the token alone; json adds what it says.")
    var output: OutputFormat = .text

    func run() async throws {
        let claims = try self.ids.claims(for: Role(rawValue: self.role))
        guard let bytes = try? Data(contentsOf: URL(filePath: self.key)) else {
            throw CommandFailure(status: .configuration, message: "the key file \(self.key) cannot be read.")
        }
        do {
            let signer = try LocalSigner(ServiceAccountKey(json: bytes))
            let minted = try await TokenMinter(signer: signer).mint(claims, at: Date())
            switch self.output {
            case .text: Console.give(minted.token.compactSerialization)
            case .json: try Console.give(json: Report(minted, keyID: signer.keyID))
            }
        } catch let error as SigningError {
            throw CommandFailure(status: .configuration, message: "\(self.key): \(error.message)")
        }
    }

    private struct Report: Encodable {
        let token: String
        let fingerprint: String
        let account: String
        let keyID: String?
        let issuedAt: Int64
        let expiresAt: Int64
        let authorization: JSONValue?

        init(_ minted: MintedToken, keyID: String?) {
            self.token = minted.token.compactSerialization
            self.fingerprint = minted.token.fingerprint
            self.account = minted.claims.issuer
            self.keyID = keyID
            self.issuedAt = minted.claims.issuedAt
            self.expiresAt = minted.claims.expiresAt
            self.authorization = minted.claims.authorization?.json
        }
    }
}
