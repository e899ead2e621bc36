// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import FleetEngine

@Suite struct ResourceFilterTests {
    private static let attributes = ["a": "0.1", "b": "x", "accent": "\u{301}e"]

    @Test(arguments: [
        "attributes.a = \"0.1\"\r\nAND attributes.b = 'x'", "attributes.a = 0.1\r\nattributes.b = x",
        "\r\n(attributes.b = 'x')\r\n", "attributes.accent = \"\u{301}e\"", "attributes.accent = '\u{301}e'",
        "attributes.accent=\u{301}e", "attributes.accent != \"\\\u{301}\"",
    ])
    func `a filter is read scalar by scalar`(filter: String) throws {
        #expect(try ResourceFilter(filter).matches(attributes: Self.attributes))
    }

    @Test(arguments: ["attributes.b = \"x\"\u{301}", "attributes.b = (\u{301}x)", "\u{301}"])
    func `an accent where a sign is needed is refused`(filter: String) {
        #expect(throws: EngineError.self) { try ResourceFilter(filter) }
    }

    @Test(arguments: [" ", "\t \n", "\r\n"])
    func `a blank filter takes everything`(filter: String) throws {
        #expect(try ResourceFilter(filter).matches(attributes: Self.attributes))
        #expect(try ResourceFilter(filter, fields: TaskFields.filterable).matches(attributes: [:]))
    }
}
