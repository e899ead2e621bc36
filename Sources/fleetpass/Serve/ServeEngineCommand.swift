// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetEngine
import FleetOperation
import Foundation

/// `fleetpass serve engine`: the engine, for accounts that it trusts.
struct ServeEngineCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "engine",
        abstract: "Run the engine.",
        discussion: """
            Example:  fleetpass serve engine --config engine.yaml

            Prints one line when both ports listen: ready http=URL grpc=HOST:PORT provider=ID,ID. It does not start \
            without a trust file. SIGTERM ends it after the calls that are under way.
            """
    )

    @Option(help: ArgumentHelp("The configuration, in YAML.", valueName: "file"), completion: .file())
    var config: String?

    @Flag(help: "Print the reference of the configuration, and do nothing else.")
    var reference = false

    func validate() throws {
        try OptionRules.need(
            self.reference || self.config != nil,
            "Pass --config FILE.yaml; --reference prints every setting, and docs/engine.md shows a first file.")
    }

    func run() async throws {
        guard let config, !self.reference else { return Console.give(EngineConfiguration.reference) }
        let configuration = try Self.read(config)
        try await configuration.log.loggingFailure {
            try TrustedAuthorities().check()
            let process = try EngineProcess(configuration)
            try ListeningPort.check(
                [
                    ListeningPort(number: configuration.httpPort, setting: "set listen.http_port"),
                    ListeningPort(number: configuration.grpcPort, setting: "set listen.grpc_port"),
                ], of: configuration.host, hostSetting: "set listen.host to an address of this machine")
            try await process.run()
        }
    }

    static func read(_ path: String) throws -> EngineConfiguration {
        let text = try ConfigurationFile(path: path, command: "serve engine").text()
        do throws(ConfigurationError) {
            return try EngineConfiguration(
                yaml: text, folder: URL(filePath: path).deletingLastPathComponent(),
                environment: ProcessInfo.processInfo.environment)
        } catch {
            throw CommandFailure(status: .configuration, message: "\(path): \(error.message)")
        }
    }
}
