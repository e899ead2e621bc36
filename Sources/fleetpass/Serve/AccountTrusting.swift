// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokenServer
import FleetTokens
import Foundation
import Logging
import ServiceLifecycle

/// Keeps the trusted accounts' keys as they are published, until shutdown.
struct AccountTrusting: Service {
    let trust: AccountTrust
    private let accounts: [String]
    private let log: WatchLog

    /// Reads trust files for a verifier.
    ///
    /// - Parameters:
    ///   - paths: The files; an account may stand in one of them.
    ///   - providers: The providers that accounts may reach; `nil` for any.
    ///   - verifier: Gets the accounts' keys beside its own.
    ///   - clocks: Remembers what the keys' servers say of the time.
    ///   - logger: Hears of each fetch that fails where the one before did not, and of the next that does not.
    /// - Throws: ``CommandFailure`` with `configuration` that names line and column.
    init(
        files paths: [String], of providers: Set<ProviderID>? = nil, verifier: TokenVerifier,
        clocks: UpstreamClocks = UpstreamClocks(), logger: Logger
    ) throws {
        var sources: [TrustedAccountSource] = []
        for path in paths {
            for source in try Self.accounts(in: path) {
                let account = source.account
                guard !sources.contains(where: { $0.account.email == account.email }) else {
                    throw CommandFailure(
                        status: .configuration,
                        message:
                            "\(path): the account \(account.email) stands in another trust file; name all its roles "
                            + "in one entry.")
                }
                if let providers, let provider = account.provider, !providers.contains(provider) {
                    throw CommandFailure(
                        status: .configuration,
                        message: "\(path): the account \(account.email) is of the provider \(provider), which is "
                            + "not among providers; add it there, or remove the account.")
                }
                sources.append(source)
            }
        }
        self.accounts = sources.map(\.account.email)
        self.log = WatchLog(logger: logger)
        do throws(SigningError) {
            self.trust = try AccountTrust(
                sources, transport: DatedTransport(UpstreamSession(), clocks: clocks, mayBeStored: true),
                verifier: verifier)
        } catch {
            throw CommandFailure(
                status: .configuration, message: "\(paths.joined(separator: ", ")): \(error.message)")
        }
    }

    private static func accounts(in path: String) throws -> [TrustedAccountSource] {
        let file = URL(filePath: path)
        guard let text = try? String(contentsOf: file, encoding: .utf8) else {
            throw CommandFailure(
                status: .configuration,
                message: "the trust file \(path) cannot be read as UTF-8 text; create it, or name the right file.")
        }
        do throws(TokenServerError) {
            return try TrustFile(yaml: text, file: path, folder: file.deletingLastPathComponent()).accounts
        } catch {
            throw CommandFailure(status: .configuration, message: error.message)
        }
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await self.trust.refresh()
                await self.logFailures()
                try? await Task.sleep(for: .seconds(2))
            }
        }
    }

    private func logFailures() async {
        let failures = self.trust.failures
        for account in self.accounts {
            await self.log.perform("the keys of \(account)") {
                if let failure = failures[account] { throw KeySetError(message: failure) }
            }
        }
    }
}
