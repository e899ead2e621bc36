// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetOperation
import FleetPostgreSQL
public import FleetSigning
import FleetTokens
import Foundation
import GoogleCredentials
import Hummingbird
public import Logging
public import ServiceLifecycle

/// An engine with all that belongs to it, as `fleetpass serve engine` runs it: one service of a program of yours.
///
/// It keeps its store where a configuration says, trusts the accounts of the trust files, refuses what is withdrawn,
/// listens for gRPC and REST, shows the page to those who may see it, takes in keys and certificates that change, and
/// deletes what is kept no longer, until a graceful shutdown.
public struct EngineServer: Service {
    /// The ports that a server listens on.
    public struct Ports: Hashable, Sendable {
        /// The port of REST, of the page and of what supervisors ask.
        public let http: Int
        /// The port of gRPC.
        public let grpc: Int
    }

    /// Opens the store of a token server, a file or the address of a database, to keep a list as that has it.
    public typealias RevocationStoreOpening =
        (_ place: String, _ list: RevocationList) throws -> any RevocationKeeping

    private let configuration: EngineConfiguration
    private let parts: EngineService
    private let trusting: AccountTrusting
    private let following: RevocationFollowing?
    private let stored: (any RevocationKeeping)?
    private let page: EnginePage?
    private let certificate: ReloadingCertificate?
    private let listening: @Sendable (Ports) -> Void
    private let isPrepared = Locked(false)
    private let logger: Logger

    /// Puts a server together: reads the files that the configuration names, and opens or makes the store.
    ///
    /// - Parameters:
    ///   - configuration: How it is set up.
    ///   - opening: Opens the token server's store that `revocations.store` names, and is needed with that; `FleetTokenServer`
    ///     has `StoredRevocations` for it.
    ///   - logger: Hears of what goes wrong.
    ///   - onListening: Is told the ports once it listens on both.
    /// - Throws: ``ConfigurationError`` for a setting or file that cannot be used, ``EngineError`` whose reason starts with
    ///   `STORE_` for a store that cannot be, `UNAVAILABLE` where that may pass, or what `opening` throws.
    public init(
        _ configuration: EngineConfiguration, revocationStore opening: RevocationStoreOpening? = nil, logger: Logger,
        onListening: @escaping @Sendable (Ports) -> Void = { _ in }
    ) throws {
        self.configuration = configuration
        self.certificate = try configuration.tls.map { try ReloadingCertificate($0, logger: logger) }
        let revocations = RevocationList()
        self.trusting = try AccountTrusting(
            files: configuration.trustFiles, of: Set(configuration.providers),
            verifier: TokenVerifier(keys: TrustedKeySet([]), revocations: revocations),
            transport: AsyncHTTPClientTransport(), logger: logger)
        let router = try configuration.router.map { try EngineService.router($0, logger: logger) }
        let parts = try EngineService(
            .init(
                file: try Self.storeFile(configuration), database: configuration.postgreSQL,
                recording: configuration.recording, router: router, profile: configuration.profile,
                retention: configuration.retention),
            verifier: self.trusting.trust, logger: logger)
        self.following = try configuration.revocations.map { source in
            let follower = try RevocationSource(
                url: source.url, keys: source.keys, givenBy: ("revocations.url", "revocations.keys")
            ).follower(of: revocations, transport: AsyncHTTPClientTransport())
            return RevocationFollowing(follower, logger: logger) { parts.metrics.revocationPoll($0, age: $1) }
        }
        self.stored = try configuration.revocationStore.map { place in
            guard let opening else {
                throw ConfigurationError(
                    "revocations.store is set, and nothing was given that opens it; pass what does as revocationStore, or "
                        + "set revocations.url.")
            }
            return try opening(place, revocations)
        }
        self.page =
            configuration.page.visibility == .nobody
            ? nil
            : EnginePage(
                engine: parts.engine, provider: configuration.page.provider, options: configuration.page.options,
                logger: logger)
        self.parts = parts
        self.listening = onListening
        self.logger = logger
    }

    /// The store's file in the data folder, which must exist: a mistyped path must not begin an empty store.
    private static func storeFile(_ configuration: EngineConfiguration) throws(ConfigurationError) -> String {
        guard let data = configuration.data, configuration.postgreSQL == nil else { return "" }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: data, isDirectory: &isFolder), isFolder.boolValue else {
            throw ConfigurationError("the data folder \(data) does not exist; make it, or set data.")
        }
        return URL(filePath: data, directoryHint: .isDirectory).appending(path: "fleetpass.sqlite")
            .path(percentEncoded: false)
    }

    /// What answers the calls.
    public var engine: Engine { self.parts.engine }

    /// Looks whether the store can be used, and takes in what is withdrawn, which is refused from the first call on.
    ///
    /// ``run()`` does it first, unless it was done; a program does it before that to tell what is wrong by itself.
    ///
    /// - Throws: ``EngineError`` that says what to mend, `UNAVAILABLE` where the store does not serve now, or what keeps
    ///   the withdrawn tokens throws.
    public func prepare() async throws {
        guard !self.isPrepared.withLock({ $0 }) else { return }
        try await self.parts.check()
        try await self.stored?.prepare()
        if let place = self.configuration.revocationStore, place != self.configuration.postgreSQL,
            self.stored?.problem == nil
        {
            await self.logger.warn(ofDatabase: place)
        }
        await self.following?.look()
        self.isPrepared.withLock { $0 = true }
    }

    /// Serves until a graceful shutdown or cancellation, answers what is under way then, and closes the store.
    ///
    /// It takes fewer connections than its configuration says where the process may open fewer files, and logs that.
    ///
    /// - Throws: What ``prepare()`` throws, or why a port cannot be listened on.
    public func run() async throws {
        do {
            try await self.serve()
            try await self.parts.close()
        } catch {
            try? await self.parts.close()
            throw error
        }
    }

    private func serve() async throws {
        try await self.prepare()
        let (ports, announce) = AsyncStream.makeStream(of: Int.self)
        let configuration = self.configuration
        let limits = OpenFiles.fitting(configuration.limits, ports: 2, logger: self.logger)
        let tls = self.certificate?.tls
        let grpc = self.parts.grpc(host: configuration.host, port: configuration.grpcPort, limits: limits, tls: tls)
        let listener = HTTPListener(
            host: configuration.host, port: configuration.httpPort, limits: limits, tls: tls, logger: self.logger)
        let routes = EngineRoutes(engine: self.engine, origins: configuration.origins)
        let responder = routes.responder(beside: self.router([listener.connections, grpc.connections]))
        let http = listener.application(responder) { port in announce.yield(port) }
        let ready = ReadyService {
            var iterator = ports.makeAsyncIterator()
            guard let http = await iterator.next() else { return }
            self.listening(Ports(http: http, grpc: try await grpc.port))
        }
        let readiness = EngineReadinessLog(problems: self.problems, log: ReadinessLog(logger: self.logger))
        // The page ends first, as its readers would keep the server of HTTP from ending.
        let servers: [(any Service)?] = [EndingTogether([http, grpc]), ready, readiness, self.page]
        // It would log, at the level of debugging, all that each service holds.
        var logger = self.logger
        logger.logLevel = max(logger.logLevel, .info)
        let services = self.parts.services(self.followers + servers.compactMap(\.self))
        try await ServiceGroup(configuration: .init(services: services, logger: logger)).run()
    }

    /// What keeps up with others: accounts' keys, withdrawn tokens, the certificate.
    private var followers: [any Service] {
        let all: [(any Service)?] = [self.trusting, self.following, self.stored, self.certificate]
        return all.compactMap(\.self)
    }

    /// Everything on the port of HTTP but the calls.
    private func router(_ connections: [ConnectionCount]) -> Router<EngineRequestContext> {
        let router = Router(context: EngineRequestContext.self)
        let (metrics, certificate) = (self.parts.metrics, self.certificate)
        OperationRoutes(
            problems: self.problems,
            metrics: { metrics.text() + connections.metrics + (certificate?.metrics ?? "") }
        ).add(to: router)
        if let page {
            let visible = router.group().add(middleware: PageVisibilityMiddleware(self.configuration.page.visibility))
            page.add(to: visible)
            DeviationRoutes(engine: self.engine).add(to: visible)
        }
        return router
    }

    /// What keeps the engine from its work now, by check.
    @Sendable private func problems() async -> [String: String] {
        var problems = await self.engine.storeProblems()
        problems["trust"] = self.trusting.trust.problem
        if let age = self.trusting.trust.age { self.parts.metrics.trustedKeys(age: age) }
        problems["revocations"] = self.following?.follower.problem ?? self.stored?.problem
        let followsRevocations = self.following != nil || self.stored != nil
        let checks =
            ["store", "trust"] + (self.configuration.postgreSQL == nil ? [] : ["clock"])
            + (followsRevocations ? ["revocations"] : [])
        self.parts.metrics.readiness(
            Dictionary(uniqueKeysWithValues: checks.map { ($0, problems[$0] == nil) }))
        return problems
    }
}

/// A group of services tells at `debug` what it runs, and would tell all that a server holds, down to the address of its
/// store with the password: printing it shows the providers only.
extension EngineServer: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The providers.
    public var description: String {
        "EngineServer(providers: \(self.configuration.providers.map(\.description).joined(separator: ", ")))"
    }
    /// The same as ``description``.
    public var debugDescription: String { self.description }
    /// A mirror that shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["server": self.description]) }
}
