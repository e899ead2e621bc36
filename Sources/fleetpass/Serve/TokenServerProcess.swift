// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenServer
import Foundation
import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import ServiceLifecycle
import UnixSignals

/// The token server from its configuration to its end.
struct TokenServerProcess {
    private let configuration: TokenServerConfiguration
    private let routes: TokenRoutes
    private let admin: AdminRoutes?
    private let origins: AllowedOriginsMiddleware<CallerRequestContext>?
    private let tokens: TokenService
    private let certificate: ReloadingCertificate?
    private let logger: Logger

    init(_ configuration: TokenServerConfiguration) throws {
        let logsJSON = configuration.logsJSON
        var logger = Logger(label: "fleetpass") { label -> any LogHandler in
            if logsJSON { JSONLogHandler() } else { StreamLogHandler.standardError(label: label) }
        }
        logger.logLevel = configuration.logLevel
        PrivateProcess.begin()
        self.configuration = configuration
        self.certificate = try configuration.tls.map {
            try ReloadingCertificate($0, clients: configuration.clientCertificates, logger: logger)
        }
        self.tokens = try TokenService(
            data: configuration.data, store: configuration.postgreSQL, keys: configuration.keys,
            signers: configuration.signers,
            google: configuration.google.signers(variables: ProcessInfo.processInfo.environment),
            provider: configuration.provider, revocationKey: configuration.revocationKeyFile, logger: logger)
        let transport = UpstreamSession()
        let assignments = StoredAssignments(store: self.tokens.store)
        do throws(TokenServerError) {
            self.routes = self.tokens.routes(
                authenticator: try configuration.authenticator(transport: transport),
                policy: try configuration.policy(
                    assignments: assignments, transport: transport),
                limiter: RequestLimiter(configuration.requestLimits))
            if let administrators = try configuration.administrators(transport: transport) {
                self.admin = self.tokens.adminRoutes(administrators, assignments: assignments)
            } else {
                self.admin = nil
            }
            self.origins =
                configuration.origins.isEmpty ? nil : try AllowedOriginsMiddleware(origins: configuration.origins)
        } catch {
            throw CommandFailure(status: .configuration, message: error.message)
        }
        self.logger = logger
    }

    func run() async throws {
        let router = Router(context: CallerRequestContext.self)
        if let origins { router.add(middleware: origins) }
        if self.configuration.clientCertificates != .none { router.add(middleware: ClientCertificateMiddleware()) }
        self.routes.add(to: router)
        self.tokens.operationRoutes.add(to: router)
        self.admin?.add(to: router)
        self.tokens.revocationRoutes.add(to: router)
        let limits = self.configuration.limits
        let http = HTTP1Channel.Configuration(
            idleTimeout: .seconds(limits.idle.components.seconds),
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: limits.headerBytes, maxHeaderListSize: limits.headerBytes,
                maxHeaderFieldCount: limits.headerFields))
        let scheme = self.certificate == nil ? "http" : "https"
        let (host, provider) = (self.configuration.host, self.configuration.provider)
        let application = Application(
            router: router,
            server: try self.certificate.map {
                // The client chooses: h2, or HTTP/1.1.
                try .http2Upgrade(
                    tlsConfiguration: $0.configuration,
                    configuration: .init(
                        idleTimeout: limits.idle, gracefulCloseTimeout: .seconds(20), streamConfiguration: http))
            }
                ?? .http1(configuration: http),
            configuration: .init(
                address: .hostname(host, port: self.configuration.port), serverName: "fleetpass",
                availableConnectionsDelegate: MaximumAvailableConnections(
                    limits.connections, logger: self.logger)),
            onServerRunning: { channel in
                let name = host.contains(":") ? "[\(host)]" : host
                Console.give("ready http=\(scheme)://\(name):\(channel.localAddress?.port ?? 0) provider=\(provider)")
            },
            logger: self.logger
        )
        try await self.tokens.checkStore()
        await self.tokens.refresh()
        await self.tokens.firstCheck()
        var services: [any Service] = [self.tokens]
        if let certificate { services.append(certificate) }
        services.append(application)
        var group = ServiceGroupConfiguration(
            services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: self.logger)
        group.maximumGracefulShutdownDuration = .seconds(30)
        do {
            try await ServiceGroup(configuration: group).run()
            try self.tokens.store.close()
        } catch {
            try? self.tokens.store.close()
            let text = "\(error)"
            let isTaken = text.contains("EADDRINUSE") || text.localizedCaseInsensitiveContains("already in use")
            throw isTaken
                ? CommandFailure(
                    status: .configuration,
                    message: "port \(self.configuration.port) of \(host) is in use; end the other program, or set "
                        + "listen.port.")
                : CommandFailure(status: .failed, message: "the token server ended: \(text)")
        }
    }
}
