// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngine
import FleetSigning
import FleetTokenServer
import FleetTokens
import Foundation
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import UnixSignals

/// Token server, engine and page in one process, over one data folder.
struct LocalService {
    let engine: Engine
    let issuer: TokenIssuer
    private let page: EnginePage
    private let options: LocalServiceOptions
    private let provider: ProviderID
    private let folder: DataFolder
    private let store: LocalEngineStore
    private let tokens: TokenService
    private let recorder: CallRecorder?
    private let logger: Logger
    private let routes: @Sendable (Router<CallerRequestContext>) -> Void

    /// Where the service listens.
    struct Addresses: Sendable {
        let http: URL
        let grpc: String
        let provider: ProviderID
        /// The data folder.
        let data: String
    }

    /// Opens the data folder and puts the parts together.
    init(_ options: LocalServiceOptions, logger: Logger) throws {
        try options.checkHost()
        let provider = try options.effectiveProvider
        let authenticator = try Self.authenticator(options)
        let folder = try DataFolder.open(options.data, provider: provider)
        let tokens = try TokenService(
            data: folder.path, store: options.store, keys: folder.keyFolder, provider: provider,
            following: options.revocations.map { RevocationSource(url: $0, keys: options.revocationsKeys) },
            trusting: options.trust, logger: logger)
        do throws(EngineError) {
            self.store = try LocalEngineStore(options.store, file: folder.storeFile, logger: logger)
        } catch {
            throw CommandFailure(status: .configuration, message: error.message)
        }
        do throws(CallRecordingError) {
            self.recorder = try options.record.map { path throws(CallRecordingError) in
                try CallRecorder(appendingTo: path, logger: logger)
            }
        } catch {
            throw CommandFailure(
                status: .configuration, message: "the recording \(options.record ?? "") \(error.message).")
        }
        let engine = self.store.engine(
            verifier: tokens.trust ?? tokens.verifier, recorder: self.recorder, logger: logger)
        let page = EnginePage(engine: engine, provider: provider, options: try options.pageOptions)
        let tokenRoutes = tokens.routes(authenticator: authenticator) { log in
            ObservedAuditLog(log: log, activity: engine.activity)
        }
        self.engine = engine
        self.page = page
        self.tokens = tokens
        self.issuer = tokens.issuer
        self.options = options
        self.provider = provider
        self.folder = folder
        self.logger = logger
        self.routes = { router in
            tokenRoutes.add(to: router)
            EngineRoutes(engine: engine).add(to: router)
            page.add(to: router)
            tokens.operationRoutes.add(to: router)
            tokens.revocationRoutes.add(to: router)
        }
    }

    private static func authenticator(_ options: LocalServiceOptions) throws -> any CallerAuthenticator {
        guard let path = options.callers else { return OpenAuthenticator() }
        return try CallersFile(path: path).authenticator()
    }

    /// Serves until SIGTERM or SIGINT, then finishes what was begun.
    ///
    /// - Parameter whenReady: Called once, when everything listens; what it does is cancelled at shutdown.
    /// - Throws: ``CommandFailure`` when it could not listen, or what `whenReady` throws.
    func run(whenReady: @escaping @Sendable (Addresses) async throws -> Void) async throws {
        let (ports, announce) = AsyncStream.makeStream(of: Int.self)
        let router = Router(context: CallerRequestContext.self)
        router.add(middleware: LoopbackHostMiddleware())
        self.routes(router)
        let http = Application(
            router: router,
            server: .http1(configuration: .init(idleTimeout: .seconds(75))),
            configuration: .init(
                address: .hostname(self.options.host, port: self.options.port), serverName: "fleetpass"),
            onServerRunning: { channel in announce.yield(channel.localAddress?.port ?? 0) },
            logger: self.logger
        )
        let grpc = EngineGRPCServer(engine: self.engine, host: self.options.host, port: self.options.grpcPort)
        let ready = ReadyService {
            var iterator = ports.makeAsyncIterator()
            guard let httpPort = await iterator.next() else { return }
            let addresses = try Addresses(
                host: self.options.host, httpPort: httpPort, grpcPort: await grpc.port, provider: self.provider,
                data: self.folder.path)
            Console.give(
                "ready http=\(addresses.http.absoluteString) grpc=\(addresses.grpc) provider=\(self.provider) "
                    + "data=\(addresses.data)"
            )
            try await whenReady(addresses)
        }
        var services: [any Service] = [
            self.tokens, http, grpc, ready, self.page, RetentionSweep(engine: self.engine, logger: self.logger),
        ]
        services += self.tokens.followers
        // First, as services end in the opposite order and it keeps what the others still answer.
        if let recorder { services.insert(recorder, at: 0) }
        try await self.tokens.checkStore()
        try await self.store.check()
        let group = ServiceGroup(
            configuration: .init(
                services: services.map { .init(service: $0) },
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: self.logger
            )
        )
        do {
            try await group.run()
            try await self.store.close()
            try self.tokens.store.close()
        } catch {
            try? await self.store.close()
            try? self.tokens.store.close()
            throw Self.explain(error, options: self.options)
        }
    }

    /// The failure in words; a port in use is the usual one.
    private static func explain(_ error: any Error, options: LocalServiceOptions) -> any Error {
        if error is CommandFailure { return error }
        let text = "\(error)"
        guard text.contains("EADDRINUSE") || text.localizedCaseInsensitiveContains("address already in use") else {
            return CommandFailure(status: .failed, message: "the service ended: \(text)")
        }
        return CommandFailure(
            status: .configuration,
            message: "port \(options.port) or \(options.grpcPort) of \(options.host) is in use; end the other program, "
                + "or pass --port and --grpc-port (0 picks a free one)."
        )
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

/// Runs a body beside the servers, and ends it when they shut down.
private struct ReadyService: Service {
    let body: @Sendable () async throws -> Void

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            try await self.body()
        }
        try? await gracefulShutdown()
    }
}
