// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokenServer
import FleetTokens
import Foundation
import Logging
import ServiceLifecycle

/// The parts of a token server that `up` and `serve tokens` share: store, audit, keys, revocations, readiness, metrics.
struct TokenService: Service {
    let store: TokenServerStore
    let keys: SigningKeys
    let issuer: TokenIssuer
    let metrics = TokenServerMetrics()
    let readiness: Readiness
    let revocations = RevocationList()
    /// Serves the list of what is withdrawn.
    let revocationRoutes: RevocationRoutes
    /// Keeps up with what others publish: another token server's list, trusted accounts' keys.
    let followers: [any Service]
    /// Verifies for an engine: with what ``trust`` adds, where a trust file is named.
    let trust: AccountTrust?
    /// Verifies what ``keys`` sign, without what was withdrawn.
    let verifier: TokenVerifier
    private let logger: Logger

    /// Opens the store in a data folder and reads the keys.
    init(
        data: String, keys path: String, provider: ProviderID, revocationKey: String? = nil,
        following source: RevocationSource? = nil, trusting trustFile: String? = nil, logger: Logger
    ) throws {
        let following = try source.map { [metrics, revocations] in
            RevocationFollowing(try $0.follower(of: revocations), metrics: metrics, logger: logger)
        }
        do throws(TokenServerError) {
            let store = try TokenServerStore(
                creatingAt: URL(filePath: data).appending(path: TokenStoreOptions.fileName).path(percentEncoded: false))
            let keys = try SigningKeys(folder: KeyFolder(path: path), provider: provider)
            guard !keys.roles.isEmpty else {
                throw TokenServerError(
                    code: .invalidConfiguration, message: "The key folder \(path) holds no key file ROLE.json.")
            }
            let issuer = TokenIssuer { role, time in keys.minter(for: role, at: time) }
            let keyFile =
                revocationKey ?? URL(filePath: data).appending(path: RevocationKeyFile.name).path(percentEncoded: false)
            self.revocationRoutes = RevocationRoutes(
                RevocationPublisher(key: try RevocationKeyFile(path: keyFile).key()) { now in
                    try await RevocationStore(store: store).current(at: now)
                })
            self.store = store
            self.keys = keys
            self.issuer = issuer
        } catch {
            throw CommandFailure(status: .configuration, message: error.message)
        }
        self.verifier = TokenVerifier(
            keys: TrustedKeySet(self.keys.published(at: Date())), revocations: self.revocations)
        let trusting = try trustFile.map { [verifier] in try AccountTrusting(file: $0, verifier: verifier) }
        self.trust = trusting?.trust
        self.followers = [following as (any Service)?, trusting].compactMap(\.self)
        self.readiness = Readiness(
            issuer: self.issuer, roles: self.keys.roles, store: self.store, metrics: self.metrics,
            followed: [
                .revocations: { following?.follower.problem }, .trust: { trusting?.trust.problem },
            ], logger: logger)
        self.logger = logger
    }

    /// The token server's routes; `observed` may put itself round the log of what is decided.
    func routes(
        authenticator: any CallerAuthenticator, policy: any TokenPolicy = RolePolicy(), limiter: RequestLimiter? = nil,
        observed: (any AuditLog) -> any AuditLog = { $0 }
    ) -> TokenRoutes {
        let keys = self.keys
        return TokenRoutes(
            desk: TokenDesk(
                issuer: self.issuer, authenticator: authenticator, policy: policy, limiter: limiter,
                audit: observed(SQLiteAuditLog(store: self.store, logger: self.logger)), metrics: self.metrics,
                logger: self.logger),
            publishedKeys: { keys.published(at: Date()) })
    }

    /// The routes for administrators.
    func adminRoutes(_ administrators: Administrators, assignments: any AssignmentStore) -> AdminRoutes {
        AdminRoutes(
            administrators: administrators,
            records: .init(
                assignments: assignments, audit: AuditReader(store: self.store),
                revocations: RevocationStore(store: self.store), keys: self.keys),
            logger: self.logger)
    }

    /// The routes for supervisors and Prometheus.
    var operationRoutes: OperationRoutes { OperationRoutes(readiness: self.readiness, metrics: self.metrics) }

    /// Keeps keys, revocations and readiness as they should be, until shutdown.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            var round = 0
            while !Task.isCancelled {
                await self.refresh()
                // Trial tokens cost signatures; the rest costs next to nothing.
                if round % 15 == 0 { await self.readiness.check() }
                round += 1
                try? await Task.sleep(for: .seconds(2))
            }
        }
    }

    /// Takes over what changed in the folder and the store.
    func refresh() async {
        do {
            try self.keys.refresh()
            let keys = self.keys.published(at: Date())
            if keys.map(\.id) != self.verifier.keys(from: TokenVerifier.own)?.keys.map(\.id) {
                self.verifier.replaceKeys(TrustedKeySet(keys))
            }
            self.revocations.replace(try await RevocationStore(store: self.store).current(at: Date()))
        } catch {
            self.logger.error("keys or revocations could not be read", metadata: ["error": "\(error)"])
        }
    }
}
