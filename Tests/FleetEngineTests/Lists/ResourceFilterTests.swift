// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf
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

    @Test(arguments: [
        "attributes.\"rear door\" = open", "attributes.'rear door' = open", "NOT attributes.\"rear door\" = 'shut'",
        "-(attributes.\"rear door\"=shut)", "attributes.\"a \\\"b\\\" = (c)\" = x", "attributes.\"AND\" = y",
        "attributes.\"plain\" = z attributes.plain = z",
    ])
    func `the key of an attribute may be quoted`(filter: String) throws {
        let attributes = ["rear door": "open", "a \"b\" = (c)": "x", "AND": "y", "plain": "z"]
        #expect(try ResourceFilter(filter).matches(attributes: attributes))
    }

    @Test(arguments: [
        "attributes. \"rear door\" = open", "attributes.rear\"door\" = open", "attributes.\"\" = x",
        "attributes.\"rear door = open", "attributes.a = b.\"c\"", "\"attributes.a\" = x",
    ])
    func `a quoted key follows the dot and is not empty`(filter: String) {
        #expect(throws: EngineError.self) { try ResourceFilter(filter) }
    }

    @Test(arguments: [" ", "\t \n", "\r\n"])
    func `a blank filter takes everything`(filter: String) throws {
        #expect(try ResourceFilter(filter).matches(attributes: Self.attributes))
        #expect(try ResourceFilter(filter, fields: TaskFields.filterable).matches(attributes: [:]))
    }

    // MARK: - Texts

    @Test(arguments: [
        ("Caf\u{E9} bar", true), ("Cafe\u{301} bar", true), ("Cafe\u{301}*", true), ("*\u{E9} bar", true),
        ("*fe\u{301} b*", true), ("*Caf\u{E9} bar*", true), ("*", true), ("***", true), ("bar*", false),
        ("*Caf\u{E9}", false), ("*fe b*", false), ("Cafe*", false), ("*Caf\u{E9} bar s*", false), ("", false),
    ])
    func `a text is compared whatever the spelling of its accents`(pattern: String, isMet: Bool) throws {
        let filter = try ResourceFilter("attributes.name = \"\(pattern)\"")
        let other = try ResourceFilter("attributes.name != \"\(pattern)\"")
        for value in ["Caf\u{E9} bar", "Cafe\u{301} bar"] {
            #expect(filter.matches(attributes: ["name": value]) == isMet)
            #expect(other.matches(attributes: ["name": value]) != isMet)
        }
    }

    @Test func `a key is found whatever the spelling of its accents`() throws {
        for (named, stored) in [("caf\u{E9}", "cafe\u{301}"), ("cafe\u{301}", "caf\u{E9}")] {
            let filter = try ResourceFilter("attributes.\(named) = x attributes.\(stored) != y")
            let attribute = VehicleAttribute.with {
                $0.key = stored
                $0.stringValue = "x"
            }
            #expect(filter.matches(attributes: [attribute]))
            #expect(filter.matches(attributes: [stored: "x"]))
            #expect(!filter.matches(attributes: ["cafe": "x"]))
        }
    }

    @Test(arguments: ["AND", "OR", "NOT"])
    func `a word that joins conditions is a value in quotes only`(word: String) throws {
        #expect(try ResourceFilter("attributes.a = \"\(word)\"").matches(attributes: ["a": word]))
        let error = #expect(throws: EngineError.self) { try ResourceFilter("attributes.a = \(word)") }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("lacks a value after attributes.a") == true)
    }

    @Test(arguments: ["-1", "-1 AND attributes.b = 2", "- x"])
    func `a value that begins with a minus is a value in quotes only`(value: String) throws {
        #expect(try ResourceFilter("attributes.n = \"-1\"").matches(attributes: ["n": "-1"]))
        let error = #expect(throws: EngineError.self) { try ResourceFilter("attributes.n = \(value)") }
        #expect(error?.code == .invalidArgument)
        #expect(
            error?.message
                == "filter compares attributes.n with a value that begins with - and needs quotation marks; write for "
                + "example attributes.class = \"van\".")
    }

    @Test(arguments: [("(", ")"), ("NOT ", ""), ("-(", ")")])
    func `a filter has 20 parentheses and negations within each other, and no more`(open: String, close: String) throws
    {
        func filter(_ depth: Int) throws -> ResourceFilter {
            let (open, close) = (String(repeating: open, count: depth), String(repeating: close, count: depth))
            return try ResourceFilter("\(open)attributes.a = x\(close)")
        }
        let deepest = open == "-(" ? 10 : 20
        #expect(try filter(deepest).matches(attributes: ["a": "x"]))
        let error = #expect(throws: EngineError.self) { try filter(deepest + 1) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("more than 20 parentheses and negations") == true)
    }

    // MARK: - Lengths

    private static func text(_ length: Int) -> String { String(repeating: "x", count: length) }

    @Test(arguments: [
        "attributes.a = \"*\(text(257))*\"", "attributes.a = \(text(257))", "attributes.a != '\(text(257))'",
        "attributes.a = \"e\(String(repeating: "\u{301}", count: 257))\"", "attributes.\(text(257)) = 1",
        "attributes.a = \"\(String(repeating: "e\u{301}", count: 257))\"",
    ])
    func `what no attribute can be is refused with the limit`(filter: String) {
        let error = #expect(throws: EngineError.self) { try ResourceFilter(filter) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("more than 256 characters") == true)
    }

    @Test func `the longest that an attribute can be is looked for`() throws {
        let value = Self.text(254)
        for wanted in [value, "*\(value)*", "\(value.dropLast())*"] {
            #expect(try ResourceFilter("attributes.a = \"\(wanted)\"").matches(attributes: ["a": value]))
        }
        // Nor is a text longer whose accents are spelled apart.
        let (apart, joined) = (String(repeating: "e\u{301}", count: 200), String(repeating: "\u{e9}", count: 200))
        #expect(try ResourceFilter("attributes.\(apart) = \"\(apart)\"").matches(attributes: [joined: joined]))
        let longest = String(repeating: "e\u{301}", count: 256)
        #expect(try !ResourceFilter("attributes.a = \"\(longest)\"").matches(attributes: ["a": "e"]))
        let key = Self.text(255)
        #expect(try ResourceFilter("attributes.\(key) = ''").matches(attributes: [key: ""]))
    }

    @Test func `a filter that is too long is refused before it is read`() {
        for filter in [String(repeating: "a=", count: 500_000), String(repeating: " ", count: 65_537)] {
            let error = #expect(throws: EngineError.self) { try ResourceFilter(filter) }
            #expect(error?.code == .invalidArgument)
            #expect(error?.message.contains("filter has more than 65536 bytes") == true)
        }
    }

    @Test func `as many restrictions as may be are read with the longest texts`() throws {
        // In UTF-8, no character is longer than these.
        let (key, value) = (String(repeating: "\u{1F690}", count: 100), String(repeating: "\u{1F690}", count: 155))
        let filter = Array(repeating: "attributes.\(key) = \"\(value)\"", count: 50).joined(separator: " AND ")
        #expect(try ResourceFilter(filter).matches(attributes: [key: value]))
        let blank = String(repeating: " ", count: 65_536 - filter.utf8.count)
        #expect(try ResourceFilter(filter + blank).matches(attributes: [key: value]))
    }

    @Test(arguments: ["name", "tracking_id", "delivery_vehicle_id", "state", "task_outcome_time"])
    func `what no field of a task can be is refused with the limit`(field: String) {
        let error = #expect(throws: EngineError.self) {
            try ResourceFilter("\(field) = \"\(Self.text(513))\"", fields: TaskFields.filterable)
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("more than 512 characters") == true)
    }

    @Test func `the longest that an id can be is looked for`() throws {
        let id = Self.text(512)
        let filter = try ResourceFilter("tracking_id = \"\(id)\"", fields: TaskFields.filterable)
        #expect(filter.required("tracking_id") == id)
    }
}
