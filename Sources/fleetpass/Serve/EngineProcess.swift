// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngine
import FleetOperation
import FleetSigning
import FleetTokenServer
import FleetTokens
import Foundation
import GoogleCredentials
import Hummingbird
import Logging
import ServiceLifecycle

/// The engine from its configuration to its end.
struct EngineProcess {
    private let configuration: EngineConfiguration
    private let engine: EngineService
    private let trusting: AccountTrusting
    private let following: RevocationFollowing?
    private let stored: StoredRevocations?
    private let page: EnginePage?
    private let certificate: ReloadingCertificate?
    private let logger: Logger

    init(_ configuration: EngineConfiguration) throws {
        let logger = Logger(configuration.log)
        logger.warn(ofUnknown: EngineConfiguration.unknownVariables(in: ProcessInfo.processInfo.environment))
        ServerProcess.begin()
        self.configuration = configuration
        self.certificate = try configuration.tls.map { try ReloadingCertificate($0, logger: logger) }
        let revocations = RevocationList()
        let verifier = TokenVerifier(keys: TrustedKeySet([]), revocations: revocations)
        self.trusting = try AccountTrusting(
            files: configuration.trustFiles, of: Set(configuration.providers), verifier: verifier,
            transport: AsyncHTTPClientTransport(), logger: logger)
        let router = try configuration.router.map { try EngineService.router($0, logger: logger) }
        let engine = try EngineService(
            .init(
                file: try Self.storeFile(configuration), database: configuration.postgreSQL,
                recording: configuration.recording, router: router, profile: configuration.profile,
                retention: configuration.retention),
            verifier: self.trusting.trust, logger: logger)
        self.following = try configuration.revocations.map { source in
            let follower = try RevocationSource(url: source.url, keys: source.keys).follower(
                of: revocations, transport: AsyncHTTPClientTransport())
            return RevocationFollowing(follower, logger: logger) { engine.metrics.revocationPoll($0, age: $1) }
        }
        self.stored = try configuration.revocationStore.map {
            try StoredRevocations(in: $0, for: revocations, logger: logger)
        }
        self.page =
            configuration.page.visibility == .nobody
            ? nil
            : EnginePage(
                engine: engine.engine, provider: configuration.page.provider, options: configuration.page.options,
                logger: logger)
        self.engine = engine
        self.logger = logger
    }

    /// The store's file in the data folder, which must exist: a mistyped path must not begin an empty store.
    private static func storeFile(_ configuration: EngineConfiguration) throws -> String {
        guard let data = configuration.data, configuration.postgreSQL == nil else { return "" }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: data, isDirectory: &isFolder), isFolder.boolValue else {
            throw CommandFailure(
                status: .configuration, message: "the data folder \(data) does not exist; make it, or set data.")
        }
        return URL(filePath: data, directoryHint: .isDirectory).appending(path: "fleetpass.sqlite")
            .path(percentEncoded: false)
    }

    func run() async throws {
        let (ports, announce) = AsyncStream.makeStream(of: Int.self)
        let (configuration, host) = (self.configuration, self.configuration.host)
        OpenFiles.raise()
        let limits = OpenFiles.fitting(configuration.limits, ports: 2, logger: self.logger)
        let tls = self.certificate?.tls
        let grpc = self.engine.grpc(host: host, port: configuration.grpcPort, limits: limits, tls: tls)
        let listener = HTTPListener(
            host: host, port: configuration.httpPort, limits: limits, tls: tls, logger: self.logger)
        let http = listener.application(self.router([listener.connections, grpc.connections])) { port in
            announce.yield(port)
        }
        let ready = ReadyService {
            var iterator = ports.makeAsyncIterator()
            guard let httpPort = await iterator.next() else { return }
            let name = host.contains(":") ? "[\(host)]" : host
            let providers = configuration.providers.map(\.value).joined(separator: ",")
            Console.give(
                "ready http=\(tls == nil ? "http" : "https")://\(name):\(httpPort) grpc=\(name):\(try await grpc.port) "
                    + "provider=\(providers)")
        }
        try await self.engine.check()
        // One that is away for now is waited for; `/readyz` tells.
        do throws(TokenServerError) {
            try await self.stored?.check()
        } catch {
            guard error.code == .storeUnreachable else { throw error }
        }
        await self.stored?.refresh()
        if let place = configuration.revocationStore, place != configuration.postgreSQL, self.stored?.problem == nil {
            await self.logger.warn(ofDatabase: place)
        }
        await self.following?.look()
        let readiness = EngineReadinessLog(problems: self.problems, log: ReadinessLog(logger: self.logger))
        // The page ends first, as its readers would keep the server of HTTP from ending.
        let servers: [(any Service)?] = [EndingTogether([http, grpc]), ready, readiness, self.page]
        let group = ServiceGroup(
            serving: self.engine.services(self.followers + servers.compactMap(\.self)), drain: limits.drain,
            logger: self.logger)
        do {
            try await group.run()
            try await self.engine.close()
        } catch {
            try? await self.engine.close()
            throw CommandFailure(
                ending: error, ports: "\(configuration.httpPort) or \(configuration.grpcPort)", host: host,
                settings: "set listen.http_port and listen.grpc_port")
        }
    }

    /// What keeps up with others: accounts' keys, withdrawn tokens, the certificate.
    private var followers: [any Service] {
        let all: [(any Service)?] = [self.trusting, self.following, self.stored, self.certificate]
        return all.compactMap(\.self)
    }

    /// Everything on the port of HTTP.
    private func router(_ connections: [ConnectionCount]) -> Router<CallerRequestContext> {
        let router = Router(context: CallerRequestContext.self)
        EngineRoutes(engine: self.engine.engine).add(to: router)
        let (metrics, certificate) = (self.engine.metrics, self.certificate)
        OperationRoutes(
            problems: self.problems,
            metrics: { metrics.text() + connections.metrics + (certificate?.metrics ?? "") }
        ).add(to: router)
        if let page {
            let visible = router.group().add(middleware: PageVisibilityMiddleware(self.configuration.page.visibility))
            page.add(to: visible)
            DeviationRoutes(engine: self.engine.engine).add(to: visible)
        }
        return router
    }

    /// What keeps the engine from its work now, by check.
    @Sendable private func problems() async -> [String: String] {
        var problems = await self.engine.engine.storeProblems()
        problems["trust"] = self.trusting.trust.problem
        if let age = self.trusting.trust.age { self.engine.metrics.trustedKeys(age: age) }
        problems["revocations"] = self.following?.follower.problem ?? self.stored?.problem
        let followsRevocations = self.following != nil || self.stored != nil
        let checks =
            ["store", "trust"] + (self.configuration.postgreSQL == nil ? [] : ["clock"])
            + (followsRevocations ? ["revocations"] : [])
        self.engine.metrics.readiness(
            Dictionary(uniqueKeysWithValues: checks.map { ($0, problems[$0] == nil) }))
        return problems
    }
}
