// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetSigning
package import FleetTokens
import Foundation
package import Logging
import ServiceLifecycle

/// Keeps the trusted accounts' keys as they are published, until shutdown.
package struct AccountTrusting: Service {
    /// The accounts with their keys.
    package let trust: AccountTrust
    private let accounts: [String]
    private let log: WatchLog

    /// Reads trust files for a verifier.
    ///
    /// - Parameters:
    ///   - paths: The files; an account may stand in one of them.
    ///   - providers: The providers that accounts may reach; `nil` for any.
    ///   - verifier: Gets the accounts' keys beside its own.
    ///   - transport: Asks for published keys.
    ///   - logger: Hears of each fetch that fails where the one before did not, and of the next that does not.
    /// - Throws: ``ConfigurationError`` that names the file, and line and column where one place of it is at fault.
    package init(
        files paths: [String], of providers: Set<ProviderID>? = nil, verifier: TokenVerifier,
        transport: any UpstreamTransport, logger: Logger
    ) throws(ConfigurationError) {
        var sources: [TrustedAccountSource] = []
        for path in paths {
            for source in try Self.accounts(in: path) {
                let account = source.account
                guard !sources.contains(where: { $0.account.email == account.email }) else {
                    throw ConfigurationError(
                        "\(path): the account \(account.email) stands in another trust file; name all its roles "
                            + "in one entry.")
                }
                if let providers, let provider = account.provider, !providers.contains(provider) {
                    throw ConfigurationError(
                        "\(path): the account \(account.email) is of the provider \(provider), which is "
                            + "not among providers; add it there, or remove the account.")
                }
                sources.append(source)
            }
        }
        self.accounts = sources.map(\.account.email)
        self.log = WatchLog(logger: logger)
        do throws(SigningError) {
            self.trust = try AccountTrust(sources, transport: transport, verifier: verifier)
        } catch {
            throw ConfigurationError("\(paths.joined(separator: ", ")): \(error.message)")
        }
    }

    private static func accounts(in path: String) throws(ConfigurationError) -> [TrustedAccountSource] {
        let file = URL(filePath: path)
        guard let text = try? String(contentsOf: file, encoding: .utf8) else {
            let reason = PathProblem.reading(path) ?? "it is no UTF-8 text"
            throw ConfigurationError("the trust file \(path) cannot be read: \(reason).")
        }
        return try TrustFile(yaml: text, file: path, folder: file.deletingLastPathComponent()).accounts
    }

    /// Looks at the keys again and again, until shutdown.
    package func run() async throws {
        await untilShutdown {
            await self.trust.refresh()
            self.logFailures()
        }
    }

    private func logFailures() {
        // What was cancelled says nothing of the keys.
        guard !Task.isCancelled else { return }
        let failures = self.trust.failures
        for account in self.accounts { self.log.note("the keys of \(account)", problem: failures[account]) }
    }
}
