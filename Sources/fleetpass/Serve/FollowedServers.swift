// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokenServer
import FleetTokens
import Logging
import ServiceLifecycle

/// What a token server keeps up with: another one's list of revocations, and the keys of further accounts.
///
/// It is made of options and the files that they name, before anything is stored: a mistake there leaves nothing behind.
struct FollowedServers {
    let metrics = TokenServerMetrics()
    /// What they, and others that are asked, say of the time.
    let clocks = UpstreamClocks()
    /// What is withdrawn, here or by the other server.
    let revocations = RevocationList()
    /// Verifies with the further accounts' keys, and without what was withdrawn; it has no keys of its own at first.
    let verifier: TokenVerifier
    let following: RevocationFollowing?
    let trusting: AccountTrusting?

    /// Reads what the options name.
    ///
    /// - Parameters:
    ///   - source: The other server's list of revocations, if any.
    ///   - trustFile: The file of further accounts to trust, if any.
    ///   - logger: Hears of what goes wrong.
    /// - Throws: ``CommandFailure`` with `configuration`.
    init(revocations source: RevocationSource? = nil, trusting trustFile: String? = nil, logger: Logger) throws {
        let (metrics, revocations, clocks) = (self.metrics, self.revocations, self.clocks)
        let verifier = TokenVerifier(keys: TrustedKeySet([]), revocations: revocations)
        self.verifier = verifier
        self.following = try source.map {
            RevocationFollowing(try $0.follower(of: revocations, clocks: clocks), logger: logger) {
                metrics.revocationPoll($0, age: $1)
            }
        }
        self.trusting = try trustFile.map {
            try AccountTrusting(files: [$0], verifier: verifier, clocks: clocks, logger: logger)
        }
    }

    /// What runs until shutdown.
    var services: [any Service] { [self.following as (any Service)?, self.trusting].compactMap(\.self) }
}
