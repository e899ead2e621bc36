// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngine
import FleetOperation
import FleetTokenServer
import FleetTokens
import Foundation
import Logging
import ServiceLifecycle

/// The process of an engine, from its configuration to its end.
struct EngineProcess {
    private let configuration: EngineConfiguration
    private let server: EngineServer
    private let logger: Logger

    /// Prepares the process.
    ///
    /// - Parameter configuration: What it is set up with.
    /// - Throws: `ConfigurationError`, `EngineError` or `TokenServerError` for a configuration that cannot be used.
    init(_ configuration: EngineConfiguration) throws {
        let logger = Logger(configuration.log)
        logger.warn(ofUnknown: EngineConfiguration.unknownVariables(in: ProcessInfo.processInfo.environment))
        ServerProcess.begin()
        OpenFiles.raise()
        let scheme = configuration.tls == nil ? "http" : "https"
        let (host, providers) = (configuration.host, configuration.providers)
        self.server = try EngineServer(
            configuration,
            revocationStore: { place, list in try StoredRevocations(in: place, for: list, logger: logger) },
            logger: logger
        ) { ports in
            let name = host.contains(":") ? "[\(host)]" : host
            Console.give(
                "ready http=\(scheme)://\(name):\(ports.http) grpc=\(name):\(ports.grpc) "
                    + "provider=\(providers.map(\.value.lineWord).joined(separator: ","))")
        }
        self.configuration = configuration
        self.logger = logger
    }

    /// Serves until a signal ends it.
    ///
    /// - Throws: ``CommandFailure`` where it cannot listen, or an error of the libraries where the store is not one that
    ///   can be used.
    func run() async throws {
        // Told once, by the command, and not by the services that would end each other.
        try await self.server.prepare()
        let group = ServiceGroup(
            serving: [self.server], drain: self.configuration.limits.drain, logger: self.logger)
        do {
            try await group.run()
        } catch {
            throw CommandFailure(
                ending: error, ports: "\(self.configuration.httpPort) or \(self.configuration.grpcPort)",
                host: self.configuration.host, settings: "set listen.http_port and listen.grpc_port")
        }
    }
}
