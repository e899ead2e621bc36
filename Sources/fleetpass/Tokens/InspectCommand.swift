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
        discussion: """
            Example:  fleetpass mint … | fleetpass inspect -

            Prints the header, the payload and a line for each rule. Characters that are not seen, such as escape, are \
            written as JSON writes them (\\u001b).
            """
    )

    @OptionGroup var token: TokenArgument

    @Option(help: "How to print.")
    var output: OutputFormat = .text

    func run() async throws {
        let token = try self.token.read()
        let (header, payload) = Self.parts(of: token)
        if self.output == .text {
            for part in [header, payload].compactMap(\.self) {
                Console.give(String(decoding: part.serialized, as: UTF8.self).shown())
            }
        }
        let explanation = TokenExaminer().explain(token, request: nil, keys: nil, now: Date())
        try ExplanationReport(explanation, header: header, payload: payload).give(as: self.output)
    }

    /// The header and the payload of a token, as far as they can be read, whatever its checks say.
    static func parts(of token: String) -> (header: JSONValue?, payload: JSONValue?) {
        guard token.utf8.count <= CompactJWS.maximumBytes else { return (nil, nil) }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map { part in
            Base64URL.decode(part.utf8).flatMap { try? JSONValue(parsing: $0) }
        }
        return parts.count == 3 ? (parts[0], parts[1]) : (nil, nil)
    }
}
