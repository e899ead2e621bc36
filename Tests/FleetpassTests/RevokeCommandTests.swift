// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import fleetpass

@Suite struct RevokeCommandTests {
    @Test(arguments: [("--key", 256), ("--caller", 512), ("--subject", 256), ("--fingerprint", 16)])
    func `what no token has withdraws nothing`(option: String, longest: Int) {
        for value in ["", String(repeating: "a", count: longest + 1)] {
            let error = #expect(throws: (any Error).self) {
                try RevokeCommand.parse(["--data", "data", option, value])
            }
            let message = error.map { RevokeCommand.message(for: $0) }
            let fault = "\(option) is \(value.isEmpty ? "empty" : "\(longest + 1) bytes")"
            #expect(message?.contains(option == "--fingerprint" ? "16 hexadecimal digits" : fault) == true)
        }
        #expect(throws: Never.self) {
            try RevokeCommand.parse(["--data", "data", option, String(repeating: "a", count: longest)])
        }
    }

    @Test(arguments: [
        "00FF00FF00FF00FF", "+0ff00ff00ff00ff", "-0ff00ff00ff00ff", "00ff00ff00ff00fg", "０0ff00ff00ff00f",
    ])
    func `what only resembles a fingerprint withdraws and finds nothing`(text: String) {
        #expect(throws: (any Error).self) { try RevokeCommand.parse(["--data", "data", "--fingerprint=\(text)"]) }
        #expect(throws: (any Error).self) { try AuditSearchCommand.parse(["--data", "data", "--fingerprint=\(text)"]) }
    }

    @Test(arguments: ["Zoë Müller", String(repeating: "ü", count: 256)])
    func `a caller goes by any name that its login may give`(name: String) {
        #expect(throws: Never.self) { try RevokeCommand.parse(["--data", "data", "--caller", name]) }
    }

    private struct Away: Error {}

    @Test(arguments: [
        (true, 0, []), (false, 0, ["the audit knows no living token"]),
        (true, 7, ["the signed list has no room for 7 of"]),
        (false, 7, ["the audit knows no living token", "the signed list has no room for 7 of"]),
    ])
    func `what a withdrawal does not reach is told`(isKnown: Bool, leftOut: Int, words: [String]) async {
        let remarks = await RevokeCommand.remarks(isKnown: { isKnown }, leftOut: { leftOut })
        #expect(remarks.count == words.count)
        for (remark, words) in zip(remarks, words) { #expect(remark.hasPrefix(words)) }
    }

    @Test func `a store that fails after a withdrawal takes nothing of it back`() async {
        let words = "it is withdrawn; what the signed list has no room for could not be told"
        let first = await RevokeCommand.remarks(isKnown: { throw Away() }, leftOut: { 0 })
        #expect(first.count == 1 && first.last?.hasPrefix(words) == true)
        let second = await RevokeCommand.remarks(isKnown: { false }, leftOut: { throw Away() })
        #expect(second.count == 2 && second.last?.hasPrefix(words) == true)
    }
}
