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
    /// Verifies what ``keys`` sign, without what was withdrawn.
    let verifier: TokenVerifier
    private let logger: Logger

    /// Opens the store in a data folder and reads the keys.
    ///
    /// The store is the data folder's own where no address of a database is given.
    init(data: String, store address: String? = nil, keys path: String, provider: ProviderID, logger: Logger) throws {
        do throws(TokenServerError) {
            let store = try Self.store(address, data: data, logger: logger)
            let keys = try SigningKeys(folder: KeyFolder(path: path), provider: provider)
            guard !keys.roles.isEmpty else {
                throw TokenServerError(
                    code: .invalidConfiguration, message: "The key folder \(path) holds no key file ROLE.json.")
            }
            let issuer = TokenIssuer { role, time in keys.minter(for: role, at: time) }
            self.store = store
            self.keys = keys
            self.issuer = issuer
            self.readiness = Readiness(
                issuer: issuer, roles: keys.roles, store: store, metrics: self.metrics, logger: logger)
        } catch {
            throw CommandFailure(status: .configuration, message: error.message)
        }
        self.verifier = TokenVerifier(
            keys: TrustedKeySet(self.keys.published(at: Date())), revocations: self.revocations)
        self.logger = logger
    }

    private static func store(
        _ address: String?, data: String, logger: Logger
    ) throws(TokenServerError) -> TokenServerStore {
        if let address { return try TokenServerStore(postgreSQL: address, logger: logger) }
        return try TokenServerStore(
            creatingAt: URL(filePath: data).appending(path: TokenStoreOptions.fileName).path(percentEncoded: false))
    }

    /// Fails with what to mend where the store cannot be used.
    func checkStore() async throws {
        do throws(TokenServerError) {
            try await self.store.check()
        } catch {
            throw CommandFailure(status: .configuration, message: error.message)
        }
    }

    /// The token server's routes.
    func routes(
        authenticator: any CallerAuthenticator, policy: any TokenPolicy = RolePolicy(), limiter: RequestLimiter? = nil
    ) -> TokenRoutes {
        let keys = self.keys
        return TokenRoutes(
            desk: TokenDesk(
                issuer: self.issuer, authenticator: authenticator, policy: policy, limiter: limiter,
                audit: StoredAuditLog(store: self.store, logger: self.logger), metrics: self.metrics,
                logger: self.logger),
            publishedKeys: { keys.published(at: Date()) })
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
            if keys.map(\.id) != self.verifier.keys.keys.map(\.id) { self.verifier.replaceKeys(TrustedKeySet(keys)) }
            let revoked = try await RevocationStore(store: self.store).current(at: Date())
            self.revocations.replace(
                fingerprints: revoked.filter { $0.kind == .fingerprint }.map(\.value),
                keyIDs: revoked.filter { $0.kind == .key }.map(\.value))
        } catch {
            self.logger.error("keys or revocations could not be read", metadata: ["error": "\(error)"])
        }
    }
}
