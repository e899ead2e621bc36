// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import Logging
import Testing

@Suite struct ReadinessLogTests {
    private let told = LeakTests.Log()
    private var logger: Logger { Logger(label: "test") { [told] _ in LeakTests.Handler(log: told) } }
    private var lines: [Substring] { self.told.contents.split(separator: "\n") }

    @Test func `a problem is told when it begins and when it ends, and in other words only to who debugs`() throws {
        let log = ReadinessLog(logger: self.logger)
        log.note([:])
        #expect(self.lines.isEmpty)
        for _ in 0..<2 { log.note(["store": "it is shut", "canary": "no key"], cause: "(42501)") }
        #expect(log.problems == ["store": "it is shut", "canary": "no key"])
        log.note(["store": "it is stuck"])
        log.note([:])
        let expected = [
            ("error", "canary", "no key"), ("error", "store", "it is shut"), ("notice", "canary", "none"),
            ("debug", "store", "it is stuck"), ("notice", "store", "none"),
        ]
        try #require(self.lines.count == expected.count)
        for (line, (level, check, problem)) in zip(self.lines, expected) {
            #expect(line.hasPrefix("\(level) readiness changed"))
            #expect(line.contains(check) && line.contains(problem))
        }
        #expect(self.lines.count { $0.contains("(42501)") } == 2)
    }

    @Test func `what is found first is news, whatever was said before anything was tried`() {
        let log = ReadinessLog(atStart: ["canary": "none was made yet"], logger: self.logger)
        #expect(log.problems == ["canary": "none was made yet"])
        log.note(["canary": "none was made yet"])
        #expect(self.lines.isEmpty)
        log.note(["canary": "no key"])
        #expect(self.lines.count { $0.hasPrefix("error readiness changed") } == 1)
    }
}
