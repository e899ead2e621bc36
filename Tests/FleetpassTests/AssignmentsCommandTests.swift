// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import fleetpass

@Suite struct AssignmentsCommandTests {
    private static func arguments(_ holder: String) -> [String] {
        ["--data", "data", "--holder", holder, "--vehicle", "veh-3"]
    }

    @Test(arguments: ["login/dora", "login/a/b", "login//b", "login/a b"])
    func `a holder is a label and a subject, which may have slashes`(holder: String) {
        #expect(throws: Never.self) { try AssignmentsAddCommand.parse(Self.arguments(holder)) }
    }

    @Test(arguments: [
        "acme/Ünal", "acme/\u{301}x", "acmé/dora", "acme/a\u{7F}", "acme/a\n",
        "acme/" + String(repeating: "a", count: 256),
    ])
    func `who can be no caller is given nothing, and loses what it has`(holder: String) {
        let error = #expect(throws: (any Error).self) { try AssignmentsAddCommand.parse(Self.arguments(holder)) }
        #expect(error.map { AssignmentsAddCommand.message(for: $0) }?.contains("printable ASCII") == true)
        #expect(throws: Never.self) { try AssignmentsEndCommand.parse(Self.arguments(holder)) }
        #expect(throws: Never.self) { try AssignmentsListCommand.parse(Self.arguments(holder)) }
    }

    @Test(arguments: [(0, false), (-1, false), (1, true), (Int.max, true)])
    func `at least one assignment is to be listed`(limit: Int, isRight: Bool) {
        let arguments = ["--data", "data", "--limit=\(limit)"]
        guard !isRight else {
            #expect(throws: Never.self) { try AssignmentsListCommand.parse(arguments) }
            return
        }
        let error = #expect(throws: (any Error).self) { try AssignmentsListCommand.parse(arguments) }
        #expect(error.map { AssignmentsListCommand.message(for: $0) }?.contains("--limit must be 1 or more") == true)
    }

    @Test(arguments: ["dora", "/dora", "login/", "/login/dora", "/", ""])
    func `what is no label and subject is a usage error`(holder: String) {
        #expect(throws: (any Error).self) { try AssignmentsAddCommand.parse(Self.arguments(holder)) }
        #expect(throws: (any Error).self) { try AssignmentsEndCommand.parse(Self.arguments(holder)) }
    }
}
