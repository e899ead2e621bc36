// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import Testing

/// Keeps the table in `docs/strictness.md` equal to the one that decides.
///
/// After a change of the table, run the tests with `FLEETPASS_WRITE_DOCS=1` to write it anew.
@Suite struct DeviationPageTests {
    private static let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "docs/strictness.md")
    private static let begin = "<!-- rules -->\n"
    private static let end = "<!-- end of rules -->\n"

    private static var table: String {
        let rows = Deviation.allCases.map(\.rule).map { rule in
            "| `\(rule.id)` | \(rule.what) | \(rule.why) | \(rule.fix) | \(rule.source) | \(rule.inStrict.rawValue) |\n"
        }
        return "| rule | what | why | how to mend it | source | in strict |\n| --- | --- | --- | --- | --- | --- |\n"
            + rows.joined()
    }

    @Test func `the page lists the rules as they are`() throws {
        let text = try String(contentsOf: Self.page, encoding: .utf8)
        let start = try #require(text.range(of: Self.begin))
        let stop = try #require(text.range(of: Self.end))
        if ProcessInfo.processInfo.environment["FLEETPASS_WRITE_DOCS"] != nil {
            let written = text[..<start.upperBound] + Self.table + text[stop.lowerBound...]
            try Data(written.utf8).write(to: Self.page)
        } else {
            #expect(text[start.upperBound..<stop.lowerBound] == Self.table)
        }
    }
}
