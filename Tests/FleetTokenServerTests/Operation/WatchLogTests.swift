// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import Logging
import Testing

@Suite struct WatchLogTests {
    @Test func `a part that could not be done is told once, until it could be or fails in another way`() {
        let told = LeakTests.Log()
        let log = WatchLog(logger: Logger(label: "test") { _ in LeakTests.Handler(log: told) })
        log.note("reading", problem: nil)
        for problem in ["it is shut", "it is shut", "it is stuck", nil, nil] { log.note("reading", problem: problem) }
        let lines = told.contents.split(separator: "\n")
        #expect(lines.map { $0.prefix { $0 != " " } } == ["error", "error", "notice"])
        #expect(log.problem(of: "reading") == nil)
    }
}
