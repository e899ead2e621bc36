// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning
import FleetTokenServer
import FleetTokens
import Foundation
import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOSSL
import ServiceLifecycle
import UnixSignals

/// A token server for the apps of one company, from its files to its end.
struct AcmeTokenServer {
    /// Holds `keys/ROLE.json`, `callers.json` and the audit.
    let folder: URL
    let provider: ProviderID
    /// PEM files; without them only this machine is served.
    var certificate: (chain: String, key: String)?
    var limits = ConnectionLimits()
    var logger = Logger(label: "acme.tokens")

    static func main() async throws {
        let folder = URL(filePath: "/var/lib/acme-tokens", directoryHint: .isDirectory)
        try await AcmeTokenServer(folder: folder, provider: ProviderID(checking: "acme")).run()
    }

    /// Serves until SIGTERM or SIGINT; requests that are under way then are still answered.
    func run() async throws {
        let store = try TokenServerStore(creatingAt: self.path("token-server.sqlite"))
        defer { try? store.close() }
        var group = ServiceGroupConfiguration(
            services: [try self.application(over: store)], gracefulShutdownSignals: [.sigterm, .sigint],
            logger: self.logger)
        group.maximumGracefulShutdownDuration = self.limits.drain + .seconds(5)
        try await ServiceGroup(configuration: group).run()
    }

    /// Everything on the port.
    func application(over store: TokenServerStore) throws -> some ApplicationProtocol {
        let revocations = RevocationList()
        let keys = try SigningKeys(
            folder: KeyFolder(path: self.path("keys")), provider: self.provider, revocations: revocations)
        let issuer = TokenIssuer(keys: keys, revocations: revocations)
        let metrics = TokenServerMetrics()
        let readiness = Readiness(
            issuer: issuer, roles: keys.roles, store: store, metrics: metrics, logger: self.logger)
        let callers = try Data(contentsOf: self.folder.appending(path: "callers.json"))
        let desk = TokenDesk(
            issuer: issuer, authenticator: try StaticBearerAuthenticator(json: callers),
            limiter: RequestLimiter(RequestLimits(perCaller: try RateLimit(60, per: .seconds(60)))),
            audit: StoredAuditLog(store: store, logger: self.logger), metrics: metrics, logger: self.logger)

        // Middleware serves the routes that are added after it, the first one outermost.
        let router = Router(context: CallerRequestContext.self)
        router.add(middleware: try AllowedOriginsMiddleware(origins: ["https://tracking.acme.example"]))
        TokenRoutes(desk: desk, publishedKeys: { keys.published(at: Date()) }).add(to: router)
        OperationRoutes(readiness: readiness, metrics: metrics).add(to: router)

        return Application(
            router: router, server: try self.server(),
            configuration: ApplicationConfiguration(
                address: .hostname(self.certificate == nil ? "127.0.0.1" : "0.0.0.0", port: 8443), backlog: 4096,
                availableConnectionsDelegate: .maximum(self.limits.connections, logger: self.logger)),
            services: [Upkeep(keys: keys, readiness: readiness, store: store, revocations: revocations)],
            logger: self.logger)
    }

    /// HTTP/1.1 and, over TLS, HTTP/2, within the limits.
    private func server() throws -> HTTPServerBuilder {
        let http = HTTP1Channel.Configuration(
            idleTimeout: TimeAmount(self.limits.idle),
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: self.limits.headerBytes, maxHeaderListSize: self.limits.headerBytes,
                maxHeaderFieldCount: self.limits.headerFields))
        guard let certificate else { return .http1OnEventLoops(configuration: http) }
        let chain = try NIOSSLCertificate.fromPEMFile(certificate.chain).map { NIOSSLCertificateSource.certificate($0) }
        let key = try NIOSSLPrivateKey(file: certificate.key, format: .pem)
        var tls = TLSConfiguration.makeServerConfiguration(certificateChain: chain, privateKey: .privateKey(key))
        tls.minimumTLSVersion = .tlsv12
        return try .http2Upgrade(
            tlsConfiguration: tls,
            configuration: .init(
                idleTimeout: self.limits.idle, gracefulCloseTimeout: self.limits.drain, streamConfiguration: http))
    }

    private func path(_ name: String) -> String { self.folder.appending(path: name).path(percentEncoded: false) }
}

/// Takes in new keys and withdrawn tokens, and makes trial tokens, for as long as the server runs.
struct Upkeep: Service {
    let keys: SigningKeys
    let readiness: Readiness
    let store: TokenServerStore
    let revocations: RevocationList

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                // What cannot be read leaves in force what was.
                try? self.keys.refresh()
                if let withdrawn = try? await RevocationStore(store: self.store).current(at: Date()) {
                    self.revocations.replace(withdrawn)
                }
                await self.readiness.check()
                try? await Task.sleep(for: .seconds(10))
            }
        }
    }
}
