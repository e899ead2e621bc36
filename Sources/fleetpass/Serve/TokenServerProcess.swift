// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetPostgreSQL
import FleetSigning
import FleetTokenServer
import FleetTokens
import Foundation
import Logging
import ServiceLifecycle

/// The process of a token server, from its configuration to its end.
struct TokenServerProcess {
    private let configuration: TokenServerConfiguration
    private let server: TokenServer
    private let logger: Logger

    /// Prepares the process.
    ///
    /// - Parameters:
    ///   - configuration: What it is set up with.
    ///   - file: The configuration's own file.
    /// - Throws: `TokenServerError` for a configuration that cannot be used.
    init(_ configuration: TokenServerConfiguration, file: String) throws {
        let logger = Logger(configuration.log)
        logger.warn(ofUnknown: TokenServerConfiguration.unknownVariables(in: ProcessInfo.processInfo.environment))
        ServerProcess.begin()
        SecretFilesCheck(configuration, file: file).warn(logger)
        OpenFiles.raise()
        let scheme = configuration.tls == nil ? "http" : "https"
        let (host, provider) = (configuration.host, configuration.provider)
        self.server = try TokenServer(configuration, logger: logger) { port in
            let name = host.contains(":") ? "[\(host)]" : host
            Console.give("ready http=\(scheme)://\(name):\(port) provider=\(provider.value.lineWord)")
        }
        self.configuration = configuration
        self.logger = logger
    }

    /// Serves until a signal ends it.
    ///
    /// - Parameter saved: What the signing trial found, to be told.
    /// - Throws: ``CommandFailure`` where it cannot listen, or `TokenServerError` where the store is not the one that is
    ///   set up.
    func run(savedBySigningTrial saved: Int? = nil) async throws {
        self.logger.info("local keys sign by \(LocalSigner.libraries)")
        if let saved {
            self.logger.info("OpenSSL signs without ADX instructions", metadata: ["less_time": "\(saved) %"])
        }
        let (host, port) = (self.configuration.host, self.configuration.port)
        // Told once, by the command, and not by the services that would end each other.
        try await self.server.prepare()
        if let address = self.configuration.postgreSQL { await self.logger.warn(ofDatabase: address) }
        try ListeningPort.check(
            [ListeningPort(number: port, setting: "set listen.port")], of: host,
            hostSetting: "set listen.host to an address of this machine")
        let group = ServiceGroup(
            serving: [self.server], drain: self.configuration.limits.drain, logger: self.logger)
        do {
            try await group.run()
        } catch {
            throw CommandFailure(ending: error, ports: "\(port)", host: host, settings: "set listen.port")
        }
    }
}
