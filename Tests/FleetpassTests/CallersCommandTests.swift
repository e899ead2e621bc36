// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetTokenServer
import Foundation
import Testing

@testable import fleetpass

@Suite struct CallersCommandTests {
    @Test(arguments: [["--role", "driver", "--role", "fleet_reader"], ["--administrator"]])
    func `an entry holds what was asked for, and no secret`(options: [String]) throws {
        let (secret, entry) = try CallersNewCommand.parse(["dispatch"] + options).made()
        let text = try Console.jsonLine(of: entry)
        #expect(secret.utf8.count >= StaticBearerAuthenticator.shortestSecret && !text.contains(secret))
        #expect(text.contains(#""name":"dispatch""#))
        #expect(text.contains(#""roles":["driver","fleet_reader"]"#) == options.contains("--role"))
        #expect(text.contains("roles") == options.contains("--role"))
    }

    @Test(arguments: [
        ("Ünal", "driver", "printable ASCII"), ("a\n", "driver", "printable ASCII"),
        (String(repeating: "a", count: 256), "driver", "printable ASCII"), ("app", "server", "must be some of"),
        ("app", "drver", "must be some of"), ("app", "", "must be some of"),
    ])
    func `what the file would refuse is a usage error`(name: String, role: String, words: String) throws {
        let command = try CallersNewCommand.parse([name, "--role", role])
        let failure = #expect(throws: CommandFailure.self) { try command.made() }
        #expect(failure?.status == .usage && failure?.message.contains(words) == true)
    }

    @Test(arguments: [["app"], ["app", "--administrator", "--role", "driver"], ["--role", "driver"]])
    func `callers have roles, and administrators have none`(arguments: [String]) {
        #expect(throws: (any Error).self) { try CallersNewCommand.parse(arguments) }
    }
}
