// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetTokenServer
import Foundation

/// `fleetpass serve tokens`: the token server, for users that it knows.
struct ServeTokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tokens",
        abstract: "Run the token server.",
        discussion: """
            Example:  fleetpass serve tokens --config tokens.yaml

            Prints one line when it listens: ready http=URL provider=ID. It does not start without an authenticator. \
            SIGTERM ends it after the requests that are under way.
            """
    )

    @Option(help: ArgumentHelp("The configuration, in YAML.", valueName: "file"), completion: .file())
    var config: String?

    @Flag(help: "Print the reference of the configuration, and do nothing else.")
    var reference = false

    func validate() throws {
        try OptionRules.need(
            self.reference || self.config != nil,
            "Pass --config FILE.yaml; --reference prints every setting, and docs/token-server.md shows a first file.")
    }

    func run() async throws {
        guard let config, !self.reference else { return Console.give(TokenServerConfiguration.reference) }
        let saved = SigningTrial.run()
        let configuration = try Self.read(config)
        try await configuration.log.loggingFailure {
            try TrustedAuthorities().check()
            try await TokenServerProcess(configuration, file: config).run(savedBySigningTrial: saved)
        }
    }

    static func read(_ path: String) throws -> TokenServerConfiguration {
        let text = try ConfigurationFile(path: path, command: "serve tokens").text()
        do throws(TokenServerError) {
            let configuration = try TokenServerConfiguration(
                yaml: text,
                folder: URL(filePath: path).deletingLastPathComponent(),
                environment: ProcessInfo.processInfo.environment)
            try configuration.requireCallers()
            return configuration
        } catch {
            throw CommandFailure(status: .configuration, message: "\(path): \(error.message)")
        }
    }
}
