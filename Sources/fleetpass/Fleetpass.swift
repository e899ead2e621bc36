// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetOperation
import Foundation
import NIOCore

/// The `fleetpass` command: parses, builds, runs, and turns every failure into one message and an exit code.
@main
struct Fleetpass: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleetpass",
        abstract: "Issue, carry and check the tokens of Fleet Engine.",
        discussion: """
            Try it:  fleetpass demo

            Exit codes: 0 done, 1 the thing asked for failed (a refused token, a failed check), 2 usage, \
            69 a needed service is unreachable, 78 configuration error.
            """,
        version: FleetpassVersion.current,
        subcommands: [
            UpCommand.self, DemoCommand.self, DriveCommand.self, WatchCommand.self, SimulateCommand.self,
            MintCommand.self, InspectCommand.self, VerifyCommand.self, ExplainCommand.self,
            LintCommand.self, ChaosCommand.self,
            ServeCommand.self, CallersCommand.self, KeysCommand.self, AssignmentsCommand.self, RevokeCommand.self,
            AuditCommand.self, DoctorCommand.self, ReplayCommand.self, ExportCommand.self,
        ]
    )

    static func main() async {
        Console.holdClosedStreams()
        Console.widenNarrowTerminal()
        // More event loops than processors only take turns.
        NIOSingletons.groupLoopCountSuggestion = Processors.count
        do {
            var command = try Self.parsed()
            try OptionRules.checkWorkingFolder()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            if let failure = CommandFailure(error) { failure.end() }
            let code = Self.exitCode(for: error)
            guard code != .success else { return Console.give(Self.message(for: error)) }
            Console.say(Self.fullMessage(for: error))
            Foundation.exit(code == .validationFailure ? CommandFailure.Status.usage.rawValue : code.rawValue)
        }
    }

    /// Reads the command line; of an option that is misspelt, that is told, rather than that a rule of ours needs it.
    private static func parsed() throws -> any ParsableCommand {
        try OptionRules.checkText()
        do {
            let command = try Self.parseAsRoot()
            try OptionRules.checkEmpty(CommandLine.arguments.dropFirst())
            return command
        } catch {
            // Those rules are checked before options that there are not are looked for.
            _ = try OptionRules.$passOverMissing.withValue(true) { try Self.parseAsRoot() }
            throw error
        }
    }
}
