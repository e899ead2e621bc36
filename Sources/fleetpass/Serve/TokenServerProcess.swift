// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetTokenServer
import Foundation
import Hummingbird
import Logging
import ServiceLifecycle

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
        let logger = Logger(configuration.log)
        logger.warn(ofUnknown: TokenServerConfiguration.unknownVariables(in: ProcessInfo.processInfo.environment))
        ServerProcess.begin()
        if let finding = SecretFilesCheck(configuration).finding, finding.outcome == .fault {
            logger.warning(
                "keys or secrets are open to other users",
                metadata: ["found": "\(finding.detail)", "next": "\(finding.next ?? "")"])
        }
        self.configuration = configuration
        self.certificate = try configuration.tls.map {
            try ReloadingCertificate($0, logger: logger)
        }
        let others = try FollowedServers(logger: logger)
        self.tokens = try TokenService(
            data: configuration.data, store: configuration.postgreSQL, keys: configuration.keys,
            signers: configuration.signers,
            google: configuration.google.signers(
                variables: ProcessInfo.processInfo.environment, transport: DatedTransport(clocks: others.clocks)),
            provider: configuration.provider, revocationKey: configuration.revocationKeyPath, following: others,
            logger: logger)
        // Each request for a token may wait for the policy's webhook, and none for another's answer.
        let transport = DatedTransport(
            UpstreamSession(connectionsPerHost: configuration.pendingLimits.burst), clocks: others.clocks,
            mayBeStored: true)
        let assignments = StoredAssignments(store: self.tokens.store)
        do throws(TokenServerError) {
            let policy = try configuration.policy(
                assignments: assignments, transport: transport, metrics: others.metrics)
            try configuration.checkCallers(of: policy)
            self.routes = self.tokens.routes(
                authenticator: try configuration.authenticator(transport: transport, metrics: others.metrics),
                policy: policy,
                limiter: RequestLimiter(configuration.requestLimits))
            for unserved in try configuration.unservedRoles(of: policy, served: self.tokens.roles) {
                logger.warning(
                    "a role is granted that nothing signs for",
                    metadata: [
                        "role": "\(unserved.role)", "problem": "\(unserved.problem)", "next": "\(unserved.remedy)",
                    ])
            }
            if let administrators = try configuration.administrators(transport: transport) {
                self.admin = self.tokens.adminRoutes(administrators, limits: configuration)
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

    /// Serves until a signal ends it.
    ///
    /// - Parameter saved: What the signing trial found, to be told.
    /// - Throws: ``CommandFailure`` where it cannot listen, or the store is not the one that is set up.
    func run(savedBySigningTrial saved: Int? = nil) async throws {
        if let saved {
            self.logger.info("OpenSSL signs without ADX instructions", metadata: ["less_time": "\(saved) %"])
        }
        let (host, provider) = (self.configuration.host, self.configuration.provider)
        let limits = OpenFiles.fitting(self.configuration.limits, ports: 1, logger: self.logger)
        let pending = PendingRequestLimit.Rule.tokens(
            self.configuration.pendingLimits, metrics: self.tokens.metrics, origins: self.origins)
        let listener = HTTPListener(
            host: host, port: self.configuration.port, limits: limits, tls: self.certificate?.tls, pending: pending,
            logger: self.logger)
        let router = Router(context: CallerRequestContext.self)
        router.add(middleware: PendingRequestMiddleware(pending.pending))
        if let proxies = self.configuration.forwardingProxies {
            router.add(middleware: ForwardedAddressMiddleware(proxies))
        }
        if let origins { router.add(middleware: origins) }
        if let tls = self.configuration.tls, tls.clients != .none {
            router.add(middleware: ClientCertificateMiddleware())
        }
        self.routes.add(to: router)
        self.tokens.operationRoutes { [listener.connections].metrics }.add(to: router)
        self.admin?.add(to: router)
        self.tokens.revocationRoutes.add(to: router)
        router.add(middleware: UnknownPathMiddleware())
        let scheme = self.certificate == nil ? "http" : "https"
        let application = listener.application(router) { port in
            let name = host.contains(":") ? "[\(host)]" : host
            Console.give("ready http=\(scheme)://\(name):\(port) provider=\(provider)")
        }
        try await self.tokens.checkStore()
        try ListeningPort.check(
            [ListeningPort(number: self.configuration.port, setting: "set listen.port")], of: host,
            hostSetting: "set listen.host to an address of this machine")
        await self.tokens.refresh()
        var services: [any Service] = [self.tokens]
        if let certificate { services.append(certificate) }
        services.append(TriedServer(tokens: self.tokens, server: application))
        let group = ServiceGroup(serving: services, drain: limits.drain, logger: self.logger)
        do {
            try await group.run()
            try self.tokens.store.close()
        } catch {
            try? self.tokens.store.close()
            throw CommandFailure(
                ending: error, ports: "\(self.configuration.port)", host: host, settings: "set listen.port")
        }
    }
}

/// A server that listens once the first tokens were tried.
private struct TriedServer: Service {
    let tokens: TokenService
    let server: any Service

    func run() async throws {
        await cancelWhenGracefulShutdown { await self.tokens.firstLook() }
        guard !Task.isShuttingDownGracefully else { return }
        try await self.server.run()
    }
}
