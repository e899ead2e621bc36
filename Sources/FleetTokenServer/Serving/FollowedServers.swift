// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetOperation
package import FleetSigning
package import Logging
package import ServiceLifecycle

/// What a token server keeps up with: another one's list of revocations, and the keys of further accounts.
///
/// It is made of options and the files that they name, before anything is stored: a mistake there leaves nothing behind.
package struct FollowedServers: Sendable {
    /// What is shown of them, and of the token server.
    package let metrics = TokenServerMetrics()
    /// What they, and others that are asked, say of the time.
    package let clocks = UpstreamClocks()
    /// What is withdrawn, here or by the other server.
    package let revocations = RevocationList()
    /// Verifies with the further accounts' keys, and without what was withdrawn; it has no keys of its own at first.
    package let verifier: TokenVerifier
    /// Follows the other server's list, if there is one.
    package let following: RevocationFollowing?
    /// Keeps the further accounts' keys, if there are such.
    package let trusting: AccountTrusting?

    /// Reads what the options name.
    ///
    /// - Parameters:
    ///   - source: The other server's list of revocations, if any.
    ///   - trustFile: The file of further accounts to trust, if any.
    ///   - logger: Hears of what goes wrong.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    package init(
        revocations source: RevocationSource? = nil, trusting trustFile: String? = nil, logger: Logger
    ) throws(TokenServerError) {
        let (metrics, revocations) = (self.metrics, self.revocations)
        let verifier = TokenVerifier(keys: TrustedKeySet([]), revocations: revocations)
        self.verifier = verifier
        let clocks = self.clocks
        func transport() -> DatedTransport { DatedTransport(clocks: clocks, mayBeStored: true) }
        do throws(ConfigurationError) {
            self.following = try source.map { source throws(ConfigurationError) in
                RevocationFollowing(try source.follower(of: revocations, transport: transport()), logger: logger) {
                    metrics.revocationPoll($0, age: $1)
                }
            }
            self.trusting = try trustFile.map { file throws(ConfigurationError) in
                try AccountTrusting(files: [file], verifier: verifier, transport: transport(), logger: logger)
            }
        } catch {
            throw TokenServerError(error)
        }
    }

    /// What runs until shutdown.
    package var services: [any Service] { [self.following as (any Service)?, self.trusting].compactMap(\.self) }
}
