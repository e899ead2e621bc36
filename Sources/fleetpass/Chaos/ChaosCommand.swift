// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetEngine
import FleetTokenClient
import FleetTokens
import Foundation

/// `fleetpass chaos`: lets things go wrong in a running engine, by script.
struct ChaosCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chaos",
        abstract: "Let things go wrong in a running engine, by script, to see how an app bears it.",
        discussion: """
            Example:  echo '{"steps": [{"status": "UNAVAILABLE", "calls": 2}]}' | fleetpass chaos set -

            The script is YAML or JSON; docs/chaos.md has every step. Only the engine of up and demo has this, and \
            only this machine reaches it.
            """,
        subcommands: [SetCommand.self, ShowCommand.self, ClearCommand.self]
    )

    struct Options: ParsableArguments {
        @Option(help: ArgumentHelp("The HTTP address of up or demo.", valueName: "url"))
        var engine = "http://127.0.0.1:8080"

        @Option(help: "How to print.")
        var output: OutputFormat = .text

        /// Sends a request, and prints what plays then.
        func send(_ method: String, body: Data? = nil) async throws {
            let client = try LocalEngineClient(self.engine, of: "fleetpass up or demo, as no other server has it")
            let status = try await client.chaos(method, body: body)
            switch self.output {
            case .text: Console.give(status.text)
            case .json: try Console.give(json: status)
            }
        }
    }

    struct SetCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Begin a script, in place of any other.",
            discussion: "Example:  fleetpass chaos set outage.yaml --engine http://127.0.0.1:8080")

        @Argument(
            help: ArgumentHelp("The script, or - to read it from standard input.", valueName: "file"),
            completion: .file())
        var script: String

        @OptionGroup var options: Options

        func run() async throws {
            let script = try FaultScriptFile(path: self.script).read()
            try await self.options.send("PUT", body: Data(script.json.serialized))
        }
    }

    struct ShowCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Print the script that plays, and how often each step struck.",
            discussion: "Example:  fleetpass chaos show")

        @OptionGroup var options: Options

        func run() async throws { try await self.options.send("GET") }
    }

    struct ClearCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "clear", abstract: "End the script that plays.", discussion: "Example:  fleetpass chaos clear")

        @OptionGroup var options: Options

        func run() async throws { try await self.options.send("DELETE") }
    }
}

extension LocalEngineClient {
    /// Asks for, sets or ends what goes wrong.
    fileprivate func chaos(_ method: String, body: Data?) async throws -> FaultStatus {
        try await self.ask(method, "chaos", body: body)
    }
}

extension FaultStatus {
    /// A line for each step.
    fileprivate var text: String {
        guard !self.steps.isEmpty else { return "No script plays." }
        return self.steps.enumerated().map { index, step in
            let calls = step.strikes == 1 ? "call" : "calls"
            return "steps[\(index)] \(step.state), struck \(step.strikes) \(calls): \(step.step)".shown()
        }.joined(separator: "\n")
    }
}
