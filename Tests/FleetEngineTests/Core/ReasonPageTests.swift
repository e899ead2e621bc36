// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngine
import Foundation
import Testing

/// Keeps the reasons in `docs/engine.md` those that the sources name.
@Suite struct ReasonPageTests {
    private static let package = URL(filePath: #filePath).appending(path: "../../../..").standardized

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: self.package.appending(path: path), encoding: .utf8)
    }

    /// Every reason of an error that the engine makes.
    private static func reasons() throws -> Set<String> {
        let folder = "Sources/FleetEngine"
        let root = self.package.appending(path: folder).path(percentEncoded: false)
        var reasons: Set<String> = []
        for name in try FileManager.default.subpathsOfDirectory(atPath: root) where name.hasSuffix(".swift") {
            let source = try self.text("\(folder)/\(name)")
            // One of two, at times.
            for match in source.matches(of: /reason: (?:[^"\n]*\? )?"([A-Z_]+)"(?: : "([A-Z_]+)")?/) {
                reasons.insert(String(match.output.1))
                if let other = match.output.2 { reasons.insert(String(other)) }
            }
            for match in source.matches(of: /(?:failedPrecondition\(|store\(|tooLarge =)\s*"([A-Z_]+)"/) {
                reasons.insert(String(match.output.1))
            }
            for match in source.matches(of: /(?:case \.\w+|default):\s*(?:\(\s*)?"(STORE_[A-Z_]+)"/) {
                reasons.insert(String(match.output.1))
            }
        }
        let refusals = try self.text("Sources/FleetTokens/Examination/TokenRefusal.swift")
        for match in refusals.matches(of: /Self\(rawValue: "([A-Z_]+)"\)/) { reasons.insert(String(match.output.1)) }
        return reasons
    }

    @Test func `the page tells every reason, and no other`() throws {
        let reasons = try Self.reasons()
        for (reason, form) in [
            ("TOKEN_EXPIRED", "a token's"), ("TASK_CLOSED", "a rule's"), ("STORE_FULL", "the store's"),
            ("STORE_SCHEMA", "one of two"), ("ROUTE_UNKNOWN", "spelled out"), ("BODY_TOO_LARGE", "named"),
        ] {
            #expect(reasons.contains(reason), "\(form)")
        }
        let sections = try Self.text("docs/engine.md").components(separatedBy: "\n## ")
        let section = try #require(sections.first { $0.hasPrefix("Why a call is refused") })
        let told = Set(section.matches(of: /`([A-Z]+(?:_[A-Z]+)*)`/).map { String($0.output.1) })
        let statuses = Set(EngineError.Code.allCases.map(\.rawValue))
        #expect(reasons.subtracting(told) == [])
        #expect(told.subtracting(statuses).subtracting(reasons) == [])
    }
}
