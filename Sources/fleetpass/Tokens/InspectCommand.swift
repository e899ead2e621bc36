// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetTokens
import Foundation

/// `fleetpass inspect`: what a token says, and whether it follows the rules, without any key.
struct InspectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Decode a token and check the rules that need no key.",
        discussion: "Example:  fleetpass mint … | fleetpass inspect -"
    )

    @OptionGroup var token: TokenArgument

    @Option(help: "How to print.")
    var output: OutputFormat = .text

    func run() async throws {
        let explanation = TokenExaminer().explain(try self.token.read(), request: nil, keys: nil, now: Date())
        if self.output == .text, let claims = explanation.claims {
            Console.give(String(decoding: claims.payload, as: UTF8.self))
        }
        try ExplanationReport(explanation).give(as: self.output)
    }
}
