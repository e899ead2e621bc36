// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import fleetpass

@Suite struct FaultScriptFileTests {
    private let file = FileManager.default.temporaryDirectory.appending(path: "fleetpass-script-\(UUID().uuidString)")

    /// What is said of a file that is no script.
    private func refusal(_ text: String) throws -> String { try self.refusal(of: Data(text.utf8)) }

    private func refusal(of script: Data) throws -> String {
        defer { try? FileManager.default.removeItem(at: self.file) }
        try script.write(to: self.file)
        let failure = try #require(throws: CommandFailure.self) {
            try FaultScriptFile(path: self.file.path(percentEncoded: false)).read()
        }
        #expect(failure.status == .configuration)
        return failure.message
    }

    @Test(arguments: [
        "{\"private_key\": \"-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBg",
        "key: -----BEGIN PRIVATE KEY-----\n: MIIEvQ: [",
        "a: {private_key: -----BEGIN PRIVATE KEY-----\u{1B}[2J", "-----BEGIN PRIVATE KEY-----\nMIIEvQ\n",
        "a: *MIIEvQ", "{\"\\u001b[2J\": 1}", "\u{7}\u{7}\u{7}",
    ])
    func `nothing of a file that is no script is told but where it is wrong`(text: String) throws {
        let message = try self.refusal(text)
        #expect(!message.contains("PRIVATE KEY") && !message.contains("MIIE"))
        #expect(!message.unicodeScalars.contains { $0.value < 0x20 })
    }

    @Test func `the line of a mistake is told`() throws {
        let repeated = try self.refusal("steps: []\nsteps: []")
        #expect(repeated.hasSuffix("line 1, the key steps stands here and once more below."))
        #expect(try self.refusal("steps:\n  - {slow: 1s\n").contains("it is neither YAML nor JSON: line "))
    }

    @Test(arguments: ["a: [&b x, *b]", "{\"a\":&b [x], \"c\":*b}", "[?&a x: 1, *a : 2]", "&x {steps: [a]} # *x"])
    func `aliases are not read`(text: String) throws {
        #expect(try self.refusal(text).contains("line 1, \"*\" repeats what \"&\" marks, and aliases are not read"))
    }

    @Test(arguments: [
        "# R&D, a & b\nsteps: [{slow: 1s}]\n", #"{"steps": [{"slow": "1s", "vehicle": "R &D"}]}"#,
        "steps: &s [{slow: 1s}] # *t", "# a?&b, \u{FEFF}c&d\nsteps: [{slow: 1s}]\n",
    ])
    func `other uses of the signs are`(text: String) throws {
        defer { try? FileManager.default.removeItem(at: self.file) }
        try Data(text.utf8).write(to: self.file)
        #expect(throws: Never.self) { try FaultScriptFile(path: self.file.path(percentEncoded: false)).read() }
    }

    @Test(arguments: ["", "\u{FEFF}"])
    func `a character that JSON escapes as two surrogates is read, behind a byte order mark too`(mark: String) throws {
        defer { try? FileManager.default.removeItem(at: self.file) }
        let script = mark + #"{"steps": [{"slow": "1s", "vehicle": "veh-\ud83d\ude97"}]}"#
        try Data(script.utf8).write(to: self.file)
        #expect(throws: Never.self) { try FaultScriptFile(path: self.file.path(percentEncoded: false)).read() }
    }

    @Test func `bytes that are no UTF-8 are refused`() throws {
        let script = Data("steps: ".utf8) + Data([0xff])
        #expect(try self.refusal(of: script).hasSuffix(": it is not UTF-8."))
    }

    @Test func `a long file is not read to its end`() throws {
        #expect(try self.refusal(String(repeating: " ", count: 256 * 1024 + 1)).contains("longer than 262144 bytes"))
    }
}
