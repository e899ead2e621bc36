// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Keeps the page of defects and the tests in step.
@Suite struct DefectPageTests {
    private static let package = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: self.package.appendingPathComponent(path), encoding: .utf8)
    }

    @Test func `the page names every test and no other`() throws {
        let sources = [
            "Tests/FleetTokenClientTests/Defects/DocumentationDefectTests.swift",
            "Tests/FleetTokenClientTests/Defects/SampleAppDefectTests.swift",
            "Tests/FleetDriverTests/Defects/ReportingIntervalDefectTests.swift",
        ]
        let tests = try sources.flatMap { try Self.text($0).matches(of: /func `(.+?)`/).map { String($0.1) } }
        let page = try Self.text("docs/fetcher-defects.md")
        let named = page.matches(of: /`((?:row|sample app) [0-9]+: .+?)`/).map { String($0.1) }
        #expect(tests.count == 36)
        #expect(tests.sorted() == named.sorted())
    }

    @Test func `what else stands for a row is a test too`() throws {
        let cells = try Self.text("docs/fetcher-defects.md").matches(of: /(?m)^\| [0-9]+ \|.* \| (.+) \|$/).map(\.1)
        let named = cells.flatMap { $0.matches(of: /`(.+?)`/).map { String($0.1) } }
        let others = named.filter { !$0.contains(/^(row|sample app) [0-9]+:/) }
        let transport = try Self.text("Tests/FleetTokenClientTests/URLSessionTransportTests.swift")
        let objectiveC = try Self.text("IntegrationTests/objective-c/objective-c-program.m")
        #expect(others.count == 4)
        for name in others {
            #expect(transport.contains("func `\(name)`()") || objectiveC.contains("CHECK(\"\(name)\","))
        }
    }
}
