// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetSigning
import FleetTokens

/// `fleetpass mint`: a token signed by a service account, with its key file or through IAM.
struct MintCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mint",
        abstract: "Mint a token as a service account, with its key file or through IAM.",
        discussion: """
            Example:  fleetpass mint --key data/service-accounts/driver.json --role driver --vehicle veh-3

            What looks like a mistake is said on stderr, and minted all the same: a claim that opens nothing to the role, \
            or a key file that by its name is another role's.

            With --impersonate no key file is needed: the credentials are found as Google's own tools find them \
            (GOOGLE_APPLICATION_CREDENTIALS, gcloud's file, the metadata server), and IAM signs. They need the \
            role roles/iam.serviceAccountTokenCreator on the account.

            The role says which ids are needed: consumer --trip; driver --vehicle; delivery_consumer --tracking (or \
            --task); delivery_untrusted_driver --delivery-vehicle; delivery_trusted_driver --delivery-vehicle \
            [--task]. server, fleet_reader, delivery_fleet_reader and delivery_server reach everything unless ids \
            narrow them; delivery_server reaches everything but BatchCreateTasks, for which --batch-task names each \
            task. ondemand_admin and delivery_admin need none: without ids their tokens carry no claims.
            """
    )

    @OptionGroup var account: SigningAccountOptions

    @Option(
        help: ArgumentHelp(
            "The role whose token to mint: \(Role.known.map(\.rawValue).joined(separator: ", ")).",
            valueName: "role"),
        completion: .roles)
    var role: String

    @OptionGroup var ids: TokenIDs

    @Option(help: "text prints the token alone; json adds what it says.")
    var output: OutputFormat = .text

    func run() async throws {
        let claims = try self.ids.claims(for: Role(rawValue: self.role))
        let minted = try await self.account.mint(claims)
        for warning in self.warnings(of: minted.claims) { Console.say("fleetpass: warning: \(warning)") }
        switch self.output {
        case .text: Console.give(minted.token.compactSerialization)
        case .json: try Console.give(json: Report(minted))
        }
    }

    /// What looks like a mistake in a token, in the words of ``Deviation``.
    func warnings(of claims: TokenClaims) -> [String] {
        let role = Role(rawValue: self.role)
        let own = self.account.role ?? role
        let mismatch: [String] =
            own == role
            ? [] : ["by its name the key file is one of the role \(own), which its tokens have; \(role) was asked for."]
        let account = TrustedAccount(email: claims.issuer, role: own)
        return mismatch
            + DeviationSet(of: claims, account: account).map { "\($0.id): \($0.rule.what) \($0.rule.fix)" }
    }

    private struct Report: Encodable {
        let token: String
        let fingerprint: String
        let account: String
        let keyID: String?
        let issuedAt: Int64
        let expiresAt: Int64
        let authorization: JSONValue?

        init(_ minted: MintedToken) throws(TokenRefusal) {
            self.token = minted.token.compactSerialization
            self.fingerprint = minted.token.fingerprint
            self.account = minted.claims.issuer
            self.keyID = try CompactJWS(minted.token.compactSerialization).keyID
            self.issuedAt = minted.claims.issuedAt
            self.expiresAt = minted.claims.expiresAt
            self.authorization = minted.claims.authorization?.json
        }
    }
}
