// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import Testing

@testable import FleetTokenServer

@Suite struct PolicyFileTests {
    private static func file(_ rule: String, top: String = "") -> String {
        "version: 1\n\(top)rules:\n  - \(rule.replacing("\n", with: "\n    "))\n"
    }

    @Test(arguments: [
        ("", "p: the file is empty"),
        ("version: 2\nrules: []", "p:1:10: the version must be 1"),
        ("rules: []", "p:1:1: the policy has no version"),
        ("version: 1", "p:1:1: the policy has no rules"),
        ("version: 1\nrules: []", "p:2:8: the rules must have 1 to 1000 entries"),
        ("version: 1\nrules: {}", "p:2:8: the rules must be a list"),
        ("- 1", "p:1:1: the policy must be written as keys"),
        ("version: 1\nrule: []\nrules: []", "p:2:1: the policy has no key \"rule\""),
        ("version: 1\nversion: 1\nrules: []", "p:1:1: the key version stands here and once more below"),
        ("version: 1\nrules: []\nrules: []", "p:2:1: the key rules stands here and once more below"),
        ("version: [1", "p:2:1: the YAML cannot be read"),
        ("version: 1\nrules:\n\t- x", "p:3:1: the YAML cannot be read"),
        ("a: &b 1\nversion: *b", "p:2:10: \"*\" repeats what \"&\" marks"),
        ("{\"a\":&b [1], \"c\":*b}", "p:1:18: \"*\" repeats what \"&\" marks"),
        ("a: [&b 1,\r\n\u{2028}*b]", "p:3:1: \"*\" repeats what \"&\" marks"),
        ("a: &b1 1\nb: &b 2\nc: *b-2\nd: *b", "p:4:4: \"*\" repeats what \"&\" marks"),
        ("version: *a", "the YAML cannot be read"),
        ("version: 1\nrules: [{? [a] : b}]", "p:2:12: a key must be one text"),
        (file("name: a\nwhen: any_caller\ngrnat: driver\nfor: assigned"), "p:5:5: a rule has no key \"grnat\""),
        (file("when: any_caller\ngrant: driver\nfor: assigned"), "p:3:5: a rule has no name"),
        (file("name: ~\nwhen: any_caller\ngrant: driver\nfor: assigned"), "p:3:11: the name must not be empty"),
        (
            file("name: \(String(repeating: "a", count: 101))\nwhen: any_caller\ngrant: driver\nfor: assigned"),
            "at most 100"
        ),
        (file("name: \"a\\nb\"\nwhen: any_caller\ngrant: driver\nfor: assigned"), "the name must be one line"),
        (file("name: a\ngrant: driver\nfor: assigned"), "does not say when"),
        (file("name: a\nwhen: {}\ngrant: driver\nfor: assigned"), "p:4:11: when is empty"),
        (file("name: a\nwhen: anyone\ngrant: driver\nfor: assigned"), "when must be any_caller"),
        (file("name: a\nwhen: {claims: {}}\ngrant: driver\nfor: assigned"), "claims is empty"),
        (file("name: a\nwhen: {claims: {g: []}}\ngrant: driver\nfor: assigned"), "must have 1 to 1000 entries"),
        (file("name: a\nwhen: {claims: {g: {a: b}}}\ngrant: driver\nfor: assigned"), "must be one text"),
        (file("name: a\nwhen: {issuers: x}\ngrant: driver\nfor: assigned"), "p:4:12: when has no key \"issuers\""),
        (file("name: a\nwhen: {subject: x}\ngrant: driver\nfor: assigned"), "name the issuer too"),
        (file("name: a\nwhen: any_caller\nfor: assigned"), "grants nothing"),
        (file("name: a\nwhen: any_caller\ngrant: server\nfor: assigned"), "no rule can grant \"server\""),
        (file("name: a\nwhen: any_caller\ngrant: [driver, admin]\nfor: assigned"), "no rule can grant \"admin\""),
        (file("name: a\nwhen: any_caller\ngrant: \"*\"\nfor: assigned"), "no rule can grant \"*\""),
        (file("name: a\nwhen: any_caller\ngrant: driver"), "does not say for which ids"),
        (file("name: a\nwhen: any_caller\ngrant: driver\nfor: all"), "p:6:10: for must be assigned"),
        (file("name: a\nwhen: any_caller\ngrant: driver\nfor: {claim: a, ids: b}"), "for must be assigned"),
        (file("name: a\nwhen: any_caller\ngrant: driver\nfor: {ids: [\"*\"]}"), "\"*\" cannot be an id"),
        (file("name: a\nwhen: any_caller\ngrant: driver\nfor: {ids: a/b}"), "cannot be an id"),
        (file("name: a\nwhen: any_caller\ngrant: driver\nfor: any"), "would give every caller every id"),
        (file("name: a\nwhen: any_caller\ngrant: fleet_reader\nfor: everything"), "would give every caller every id"),
        (
            file("name: a\nwhen: any_caller\ngrant: delivery_trusted_driver\nfor: assigned\ntask: any"),
            "would give every caller every id"
        ),
        (file("name: a\nwhen: {issuer: x}\ngrant: driver\nfor: everything"), "for fleet_reader and"),
        (file("name: a\nwhen: {issuer: x}\ngrant: fleet_reader\nfor: any"), "a rule of its own"),
        (file("name: a\nwhen: {issuer: x}\ngrant: [fleet_reader, driver]\nfor: everything"), "a rule of its own"),
        (file("name: a\nwhen: {issuer: x}\ngrant: driver\nfor: any\ntask: any"), "task: is for"),
        (
            file("name: a\nwhen: {issuer: x}\ngrant: delivery_trusted_driver\nfor: any\ntask: everything"),
            "every task is no driver's"
        ),
        (file("name: a\nwhen: any_caller\ngrant: driver\nfor: webhook"), "the policy names none"),
        (
            file("name: a\nwhen: any_caller\ngrant: driver\nfor: webhook", top: "webhook: {url: http://x/}\n"),
            "p:2:16: the url must be https, or http on this machine, and hold no user"
        ),
        (
            file("name: a\nwhen: any_caller\ngrant: driver\nfor: assigned", top: "webhook: {timeout: 2s}\n"),
            "the webhook has no url"
        ),
        (
            file(
                "name: a\nwhen: any_caller\ngrant: driver\nfor: assigned",
                top: "webhook: {url: \"https://x/\", timeout: 2}\n"), "the timeout must be a time"
        ),
        (
            file(
                "name: a\nwhen: any_caller\ngrant: driver\nfor: assigned",
                top: "webhook: {url: \"https://x/\", cache: 301s}\n"), "the cache must be a time"
        ),
        (
            file("name: a\nwhen: any_caller\ngrant: driver\nfor: assigned")
                + "  - {name: a, when: any_caller, grant: driver, for: assigned}\n", "p:7:5: two rules have the name"
        ),
        (String(repeating: " ", count: 256 * 1024 + 1), "more than 262144 bytes"),
        (String(repeating: "[", count: 100_000), "the YAML cannot be read"),
        (String(repeating: "- ", count: 100_000), "the YAML cannot be read"),
        (String(repeating: "? ", count: 100_000), "the YAML cannot be read"),
    ])
    func `what cannot be meant is an error that says where`(yaml: String, message: String) {
        let error = #expect(throws: TokenServerError.self) { try PolicyFile(yaml: yaml, name: "p") }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "no error")")
    }

    @Test(arguments: ["issuer: x", "roles: [dispatch]", "claims: {groups: staff}"])
    func `a rule that names its callers in one way may be for every id`(condition: String) throws {
        let rule = "name: \(String(repeating: "a", count: 100))\nwhen: {\(condition)}\ngrant: driver\nfor: any"
        #expect(try PolicyFile(yaml: Self.file(rule), name: "p").rules.map(\.reach) == [.any])
    }

    @Test(arguments: ["R & D, Q&A", "keys &co, all * of them", "&lt; *gt", "*b &bb"])
    func `what repeats nothing is read, whatever it looks like`(name: String) throws {
        let yaml = Self.file("name: &quiet \"\(name)\"  # R &D\nwhen: any_caller\ngrant: driver\nfor: assigned")
        #expect(try PolicyFile(yaml: yaml, name: "p").rules.map(\.name) == [name])
    }

    /// The examples of the reference page are read as they stand there.
    @Test func `every example of the reference is a policy`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/policy.md"), encoding: .utf8)
        let blocks = page.components(separatedBy: "```yaml\n").dropFirst().map {
            $0.components(separatedBy: "```")[0]
        }
        #expect(blocks.count >= 3)
        for block in blocks {
            // An example of rules alone stands for a whole file.
            let yaml = block.hasPrefix("version:") ? block : "version: 1\nrules:\n" + block
            #expect(throws: Never.self, "\(block)") { try PolicyFile(yaml: yaml, name: "policy.md") }
        }
    }
}
