// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetSigning
import FleetTokens
import Foundation
import GoogleCredentials

/// Which service account signs: one whose key file is at hand, or one that IAM signs for.
struct SigningAccountOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The service account's key file, in Google's JSON format; - reads standard input.", valueName: "file"),
        completion: .file())
    var key: String?

    @Option(
        help: ArgumentHelp(
            "The e-mail of the service account that IAM signs for, with the credentials of this machine.",
            valueName: "email"))
    var impersonate: String?

    @Option(
        name: .customLong("delegate"),
        help: ArgumentHelp(
            "An account between the credentials and the one to impersonate; again for each further one, in order.",
            valueName: "email"))
    var delegates: [String] = []

    func validate() throws {
        try OptionRules.need(
            (self.key == nil) != (self.impersonate == nil),
            "Name the account that signs: either --key FILE or --impersonate EMAIL.")
        try OptionRules.need(
            self.impersonate != nil || self.delegates.isEmpty, "--delegate goes with --impersonate.")
        try OptionRules.check(path: self.key, of: "--key", "name the service account's key file")
    }

    /// The role of the account, where the name of its key file tells.
    var role: Role? { self.key.flatMap { SigningKeyFile(path: $0).role } }

    /// Mints a token now.
    ///
    /// - Parameter claims: What the token reaches; `nil` for the plain token of an admin account.
    /// - Returns: The token.
    /// - Throws: ``CommandFailure``.
    func mint(_ claims: AuthorizationClaims?) async throws -> MintedToken {
        let source = self.key.map { SigningKeyFile(path: $0).name } ?? self.impersonate ?? ""
        do {
            return try await SignalExit.during {
                try await TokenMinter(signer: self.signer()).mint(claims, at: Date())
            }
        } catch let error as SigningError where error.code == .tokenTooLong {
            throw CommandFailure(
                status: .usage,
                message: "the token would be longer than the \(CompactJWS.maximumBytes) bytes that are read of one; "
                    + "give fewer --batch-task, and mint a token for each of several smaller batches.")
        } catch let error as SigningError {
            let isTransient = (error.cause as? CredentialError)?.isTransient ?? false
            throw CommandFailure(
                status: isTransient ? .unreachable : .configuration, message: "\(source): \(error.message)")
        } catch let error as CredentialError {
            throw CommandFailure(
                status: error.isTransient ? .unreachable : .configuration, message: "\(source): \(error)")
        }
    }

    private func signer() async throws -> any PayloadSigner {
        if let account = self.impersonate {
            let context = CredentialContext(
                variables: ProcessInfo.processInfo.environment, hostOverrides: Self.hostOverrides)
            return try await ApplicationDefaultCredentials(context: context).load()
                .signer(impersonating: account, delegates: self.delegates)
        }
        return try LocalSigner(SigningKeyFile(path: self.key ?? "").read())
    }

    /// Where IAM is, when gcloud's own variable sends it elsewhere, as behind a private endpoint.
    private static var hostOverrides: [String: String] {
        let address = ProcessInfo.processInfo.environment["CLOUDSDK_API_ENDPOINT_OVERRIDES_IAMCREDENTIALS"]
        return address.map { ["iamcredentials.googleapis.com": $0.hasSuffix("/") ? String($0.dropLast()) : $0] } ?? [:]
    }
}
