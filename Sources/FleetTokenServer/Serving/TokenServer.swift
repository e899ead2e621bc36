// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning
import FleetTokens
public import Foundation
import GoogleCredentials
public import Hummingbird
public import Logging
public import ServiceLifecycle

/// A token server with all that belongs to it, as `fleetpass serve tokens` runs it: one service of a program of yours.
///
/// It signs with the keys and accounts of a configuration, knows its callers, asks its policy, keeps the audit and the
/// lists of what is withdrawn, takes in keys, callers and certificates that change, and listens, until a graceful shutdown.
public struct TokenServer: Service {
    private let configuration: TokenServerConfiguration
    private let parts: TokenService
    private let routes: TokenRoutes
    private let admin: AdminRoutes?
    private let origins: AllowedOriginsMiddleware<CallerRequestContext>?
    private let certificate: ReloadingCertificate?
    private let listening: @Sendable (Int) -> Void
    private let logger: Logger

    /// Puts a server together: reads the files that the configuration names, and makes or opens the store.
    ///
    /// - Parameters:
    ///   - configuration: How it is set up.
    ///   - authenticators: Further ways to know who asks, in the order in which they are asked, before those of the
    ///     configuration.
    ///   - policy: What callers may have; `nil` leaves it to the configuration's rules. Where it has none, callers get
    ///     every token of their roles (``RolePolicy``), and with authenticators here the log warns of that.
    ///   - environment: The environment, where the process's Google credentials are looked for.
    ///   - logger: Hears of what goes wrong and, at `debug`, of each token's fingerprint.
    ///   - onListening: Is told the port that it listens on, once the first trial tokens were made or had their time.
    /// - Throws: ``TokenServerError``, with ``TokenServerError/Code/invalidConfiguration`` also where nothing knows who
    ///   asks.
    public init(
        _ configuration: TokenServerConfiguration, authenticators: [any CallerAuthenticator] = [],
        policy: (any TokenPolicy)? = nil, environment: [String: String] = ProcessInfo.processInfo.environment,
        logger: Logger, onListening: @escaping @Sendable (_ port: Int) -> Void = { _ in }
    ) throws(TokenServerError) {
        if authenticators.isEmpty { try configuration.requireCallers() }
        self.configuration = configuration
        self.certificate = try Self.certificate(configuration.tls, logger: logger)
        let (callers, administrators) = (try configuration.callers(), try configuration.administratorsFile())
        let others = try FollowedServers(logger: logger)
        self.parts = try TokenService(
            data: configuration.data, store: configuration.postgreSQL, keys: configuration.keys,
            signers: configuration.signers,
            google: configuration.google.signers(
                variables: environment, transport: DatedTransport(clocks: others.clocks)),
            provider: configuration.provider, revocationKey: configuration.revocationKeyPath,
            callers: [callers, administrators].compactMap(\.self), following: others, logger: logger)
        // Each request for a token may wait for the policy's webhook, and none for another's answer.
        let transport = DatedTransport(
            AsyncHTTPClientTransport(connectionsPerHost: configuration.pendingLimits.burst), clocks: others.clocks,
            mayBeStored: true)
        let configured = try configuration.policy(
            assignments: StoredAssignments(store: self.parts.store), transport: transport, metrics: others.metrics)
        // Labels and roles of authenticators that are not the configuration's are theirs to know.
        if authenticators.isEmpty { try configuration.checkCallers(of: configured) }
        let providers = try configuration.providers(transport: transport, metrics: others.metrics)
        self.routes = self.parts.routes(
            authenticator: CallerAuthenticators(
                authenticators + (try configuration.authenticators(callers: callers, providers: providers))),
            policy: policy ?? configured, limiter: RequestLimiter(configuration.requestLimits))
        for unserved in try configuration.unservedRoles(of: policy ?? configured, served: self.parts.roles) {
            logger.warning(
                "a role is granted that nothing signs for",
                metadata: [
                    "role": "\(unserved.role)", "problem": "\(unserved.problem)", "next": "\(unserved.remedy)",
                ])
        }
        if let roleless = configuration.rolelessCallers(of: policy ?? configured) {
            logger.warning(
                "callers have no roles, and there are no rules",
                metadata: ["problem": "\(roleless.problem)", "next": "\(roleless.remedy)"])
        }
        if !authenticators.isEmpty, policy == nil, configured is RolePolicy {
            logger.warning(
                "callers get tokens of their roles whatever the id",
                metadata: [
                    "problem": "there are authenticators, and no policy that knows what is whose",
                    "next": "Give the server a policy, or rules with policy.file; RolePolicy() says that it is meant.",
                ])
        }
        if let known = configuration.administrators(secrets: administrators, providers: providers) {
            self.admin = self.parts.adminRoutes(known, limits: configuration)
        } else {
            self.admin = nil
        }
        self.origins =
            configuration.origins.isEmpty ? nil : try AllowedOriginsMiddleware(origins: configuration.origins)
        self.listening = onListening
        self.logger = logger
    }

    private static func certificate(
        _ files: ListenerTLS?, logger: Logger
    ) throws(TokenServerError) -> ReloadingCertificate? {
        guard let files else { return nil }
        do throws(ConfigurationError) {
            return try ReloadingCertificate(files, logger: logger)
        } catch {
            throw TokenServerError(error)
        }
    }

    /// Looks whether the store can be used, and takes in what is withdrawn, which is refused from then on.
    ///
    /// ``run()`` does it first; a program that listens itself does it before that.
    ///
    /// - Throws: ``TokenServerError`` that says what to mend.
    public func prepare() async throws(TokenServerError) {
        try await self.parts.checkStore()
        await self.parts.refresh()
    }

    /// Serves until a graceful shutdown or cancellation, answers what is under way then, and closes the store.
    ///
    /// It listens once it is prepared, and has made a trial token of each role or waited three seconds for them. It takes
    /// fewer connections than its configuration says where the process may open fewer files, and logs that.
    ///
    /// - Throws: ``TokenServerError`` where the store cannot be used, or why the port cannot be listened on.
    public func run() async throws {
        do {
            try await self.serve()
            try self.parts.store.close()
        } catch {
            try? self.parts.store.close()
            throw error
        }
    }

    private func serve() async throws {
        try await self.prepare()
        let configuration = self.configuration
        let limits = OpenFiles.fitting(configuration.limits, ports: 1, logger: self.logger)
        let pending = PendingRequestLimit.Rule.tokens(
            configuration.pendingLimits, metrics: self.parts.metrics, origins: self.origins)
        let listener = HTTPListener(
            host: configuration.host, port: configuration.port, limits: limits, tls: self.certificate?.tls,
            pending: pending, logger: self.logger)
        let router = Router(context: CallerRequestContext.self)
        router.add(middleware: PendingRequestMiddleware(pending.pending))
        if let proxies = configuration.forwardingProxies {
            router.add(middleware: ForwardedAddressMiddleware(proxies))
        }
        if let origins { router.add(middleware: origins) }
        if let tls = configuration.tls, tls.clients != .none { router.add(middleware: ClientCertificateMiddleware()) }
        self.add(to: router) { [certificate] in [listener.connections].metrics + (certificate?.metrics ?? "") }
        router.add(middleware: UnknownPathMiddleware())
        var services: [any Service] = [self.parts]
        if let certificate { services.append(certificate) }
        services.append(
            TriedServer(
                tokens: self.parts,
                server: listener.application(router.buildResponder(), onListening: self.listening)))
        // It would log, at the level of debugging, all that each service holds.
        var logger = self.logger
        logger.logLevel = max(logger.logLevel, .info)
        try await ServiceGroup(configuration: .init(services: services, logger: logger)).run()
    }

    /// Adds what the server answers to a router of your own, for a program that listens itself.
    ///
    /// The routes are those of ``TokenRoutes``, `OperationRoutes` and ``RevocationRoutes``, and of ``AdminRoutes`` where
    /// the configuration names administrators. ``prepare()`` the server before you listen, and run ``upkeep`` beside your
    /// own. What the configuration says of listening, TLS, limits of connections, origins and proxies is then yours to do.
    ///
    /// - Parameters:
    ///   - router: The router, or a group of one. Authenticators that look at the connection need its context to be
    ///     ``CallerRequestContext``, which ``ClientCertificateMiddleware`` and ``ForwardedAddressMiddleware`` are for, or
    ///     one that conforms to the same protocols and that you fill yourself.
    ///   - metrics: What `/metrics` shows besides, in the Prometheus text format.
    public func add<Context: RequestContext>(
        to router: some RouterMethods<Context>, metrics: @escaping @Sendable () -> String = { "" }
    ) {
        self.routes.add(to: router)
        OperationRoutes(
            readiness: self.parts.readiness, remarks: self.parts.remarks, metrics: self.parts.metrics, others: metrics
        ).add(to: router)
        self.admin?.add(to: router)
        self.parts.revocationRoutes.add(to: router)
    }

    /// Takes in changed keys and callers and what is withdrawn, and makes trial tokens, beside a server of your own that has the routes;
    /// closes the store when it ends, which should be after that.
    public var upkeep: some Service { Upkeep(provider: self.configuration.provider, parts: self.parts) }
}

/// What keeps the parts of a token server as they should be, and closes their store.
private struct Upkeep: Service {
    let provider: ProviderID
    let parts: TokenService

    func run() async throws {
        try await self.parts.run()
        try self.parts.store.close()
    }
}

// A group of services tells at `debug` what it runs, and would tell all that a server holds, down to the address of its
// store with the password.

extension TokenServer: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The provider.
    public var description: String { "TokenServer(provider: \(self.configuration.provider))" }
    /// The same as ``description``.
    public var debugDescription: String { self.description }
    /// A mirror that shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["server": self.description]) }
}

extension Upkeep: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { "Upkeep(provider: \(self.provider))" }
    var debugDescription: String { self.description }
    var customMirror: Mirror { Mirror(self, children: ["upkeep": self.description]) }
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
