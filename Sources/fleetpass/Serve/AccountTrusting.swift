// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokenServer
import Foundation
import ServiceLifecycle

/// Keeps the trusted accounts' keys as they are published, until shutdown.
struct AccountTrusting: Service {
    let trust: AccountTrust

    /// Reads a trust file for a verifier.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - verifier: Gets the accounts' keys beside its own.
    /// - Throws: ``CommandFailure`` with `configuration` that names line and column.
    init(file path: String, verifier: TokenVerifier) throws {
        let file = URL(filePath: path)
        guard let text = try? String(contentsOf: file, encoding: .utf8) else {
            throw CommandFailure(status: .configuration, message: "the trust file \(path) cannot be read as UTF-8.")
        }
        do {
            let accounts = try TrustFile(yaml: text, file: path, folder: file.deletingLastPathComponent()).accounts
            self.trust = try AccountTrust(accounts, transport: UpstreamSession(), verifier: verifier)
        } catch let error as TokenServerError {
            throw CommandFailure(status: .configuration, message: error.message)
        } catch let error as SigningError {
            throw CommandFailure(status: .configuration, message: "\(path): \(error.message)")
        }
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await self.trust.refresh()
                try? await Task.sleep(for: .seconds(2))
            }
        }
    }
}
