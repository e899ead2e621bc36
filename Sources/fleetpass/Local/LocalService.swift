// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngine
import FleetOperation
import FleetSigning
import FleetTokenServer
import FleetTokens
import Foundation
import Hummingbird
import Logging
import ServiceLifecycle

/// Token server, engine and page in one process, over one data folder.
struct LocalService {
    let issuer: TokenIssuer
    private let page: EnginePage
    private let options: LocalServiceOptions
    private let provider: ProviderID
    private let folder: DataFolder
    private let engine: EngineService
    private let tokens: TokenService
    private let following: RevocationFollowing?
    private let faults: FaultInjector
    private let tokenRoutes: TokenRoutes
    private let logger: Logger

    /// What the clients of each port may use up: those of one machine need fewer connections than a fleet.
    private static let limits = ConnectionLimits(connections: 4000)

    /// Where the service listens.
    struct Addresses: Sendable {
        let http: URL
        let grpc: String
        let provider: ProviderID
        /// The data folder.
        let data: String
    }

    /// Opens the data folder and puts the parts together.
    ///
    /// - Throws: ``CommandFailure``, or an error that it is made of; for options and files that are seen to be of no use,
    ///   before the folder is made.
    init(_ options: LocalServiceOptions, logger: Logger) throws {
        try options.checkPlaces()
        let provider = try options.effectiveProvider
        let pageOptions = try options.pageOptions
        let callers = try options.callers.map { try CallersFile($0) }
        let followed = try FollowedServers(
            revocations: options.revocations.map { url in
                RevocationSource(
                    url: url, keys: options.revocationsKeys, givenBy: ("--revocations", "--revocations-keys"))
            },
            trusting: options.trust, logger: logger)
        let router = try options.router.map { try EngineService.router($0, logger: logger) }
        let script = try options.chaos.map { try FaultScriptFile(path: $0).read() }
        let folder = try DataFolder.open(options.data, provider: provider)
        SecretFilesCheck(folder, callers: options.callers).warn(logger)
        let tokens = try TokenService(
            data: folder.path, store: options.store, keys: folder.keyFolder, provider: provider,
            callers: [callers].compactMap(\.self), following: followed, logger: logger)
        let faults = FaultInjector()
        faults.set(script)
        let engine = try EngineService(
            .init(
                file: folder.storeFile, database: options.store, recording: options.record, router: router,
                profile: options.profile, faults: faults),
            verifier: tokens.trust ?? tokens.verifier, logger: logger)
        self.page = EnginePage(
            engine: engine.engine, provider: provider, options: pageOptions, logger: logger)
        self.tokenRoutes = tokens.routes(authenticator: callers ?? OpenAuthenticator()) { log in
            ObservedAuditLog(log: log, provider: provider, activity: engine.engine.activity)
        }
        self.engine = engine
        self.faults = faults
        self.tokens = tokens
        self.following = followed.following
        self.issuer = tokens.issuer
        self.options = options
        self.provider = provider
        self.folder = folder
        self.logger = logger
    }

    /// Serves until SIGTERM or SIGINT, then finishes what was begun.
    ///
    /// - Parameter whenReady: Called once, when everything listens; what it does is cancelled at shutdown.
    /// - Throws: ``CommandFailure`` when it could not listen, or what `whenReady` throws.
    func run(whenReady: @escaping @Sendable (Addresses) async throws -> Void) async throws {
        let (ports, announce) = AsyncStream.makeStream(of: Int.self)
        let (host, options) = (self.options.host, self.options)
        OpenFiles.raise()
        let limits = OpenFiles.fitting(Self.limits, ports: 2, logger: self.logger)
        let grpc = self.engine.grpc(host: host, port: options.grpcPort, limits: limits, tls: nil)
        let listener = HTTPListener(host: host, port: options.port, limits: limits, tls: nil, logger: self.logger)
        let router = self.router([listener.connections, grpc.connections])
        let http = listener.application(router.buildResponder()) { port in announce.yield(port) }
        let ready = ReadyService {
            var iterator = ports.makeAsyncIterator()
            guard let httpPort = await iterator.next() else { return }
            let addresses = try Addresses(
                host: host, httpPort: httpPort, grpcPort: await grpc.port, provider: self.provider,
                data: self.folder.path)
            Console.give(
                "ready http=\(addresses.http.absoluteString) grpc=\(addresses.grpc) "
                    + "provider=\(self.provider.value.lineWord) data=\(addresses.data)"
            )
            try await whenReady(addresses)
        }
        let own: [any Service] = [self.tokens, EndingTogether([http, grpc]), ready, self.page]
        // The faults end first, so that no call is held back by them while the others end.
        let services = self.engine.services(own + self.tokens.followers + [self.faults])
        try await self.tokens.checkStore()
        try await self.engine.check()
        await self.following?.look()
        let group = ServiceGroup(serving: services, drain: limits.drain, logger: self.logger)
        do {
            try ListeningPort.check(
                [
                    ListeningPort(number: options.port, setting: "pass --port (0 picks a free one)"),
                    ListeningPort(number: options.grpcPort, setting: "pass --grpc-port (0 picks a free one)"),
                ], of: host, hostSetting: "pass another with --host")
            try await group.run()
            try await self.engine.close()
            try self.tokens.store.close()
        } catch {
            try? await self.engine.close()
            try? self.tokens.store.close()
            throw CommandFailure(
                ending: error, ports: "\(options.port) or \(options.grpcPort)", host: host,
                settings: "pass --port and --grpc-port (0 picks a free one)")
        }
    }

    /// Everything on the port of HTTP.
    private func router(_ connections: [ConnectionCount]) -> Router<CallerRequestContext> {
        let router = Router(context: CallerRequestContext.self)
        router.add(middleware: LoopbackHostMiddleware())
        router.add(middleware: TokenFaultMiddleware(injector: self.faults))
        self.tokenRoutes.add(to: router)
        EngineRoutes(engine: self.engine.engine).add(to: router)
        DeviationRoutes(engine: self.engine.engine).add(to: router)
        ChaosRoutes(injector: self.faults).add(to: router)
        self.page.add(to: router)
        let (metrics, tokens) = (self.engine.metrics, self.tokens)
        OperationRoutes(
            problems: self.problems, remarks: tokens.remarks,
            metrics: {
                if let age = tokens.trust?.age { metrics.trustedKeys(age: age) }
                return tokens.metrics.text + metrics.text(alone: false) + connections.metrics
            }
        ).add(to: router)
        self.tokens.revocationRoutes.add(to: router)
        router.add(middleware: UnknownPathMiddleware())
        return router
    }

    /// What keeps the token server or the engine from its work now, by check; where both name one, in the former's words.
    @Sendable private func problems() async -> [String: String] {
        let problems = await self.engine.engine.storeProblems()
        return problems.merging(self.tokens.readiness.problems.map { ($0.key.rawValue, $0.value) }) { $1 }
    }
}

extension LocalService.Addresses {
    init(host: String, httpPort: Int, grpcPort: Int, provider: ProviderID, data: String) throws {
        let host = host.contains(":") ? "[\(host)]" : host
        guard let http = URL(string: "http://\(host):\(httpPort)") else {
            throw CommandFailure(status: .configuration, message: "\(host) makes no URL.")
        }
        self.init(http: http, grpc: "\(host):\(grpcPort)", provider: provider, data: data)
    }
}
