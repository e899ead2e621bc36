// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetTokens
import Foundation
import Logging
import Testing

@testable import FleetTokenServer

@Suite struct RecurringLogTests {
    private let lines = LeakTests.Log()
    private let clock = Locked(Date(timeIntervalSince1970: 1_767_225_600))

    private func log() -> RecurringLog {
        RecurringLog(
            "it failed", level: .error, logger: Logger(label: "test") { [lines] _ in LeakTests.Handler(log: lines) },
            now: { [clock] in clock.withLock { $0 } })
    }

    /// What was logged, a line each.
    private var told: [String] {
        self.lines.contents.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    private func pass(_ seconds: TimeInterval) { self.clock.withLock { $0 += seconds } }

    @Test func `each cause is told at once, and then every ten seconds with how often it came`() {
        let log = self.log()
        for _ in 0..<3 {
            for cause in ["a", "b"] { log.note(cause, [:]) }
        }
        #expect(self.told == ["error it failed [:]", "error it failed [:]"])
        self.pass(9)
        log.note("a", [:])
        #expect(self.told.count == 2)
        self.pass(1)
        log.note("a", [:])
        #expect(self.told.dropFirst(2) == [#"error it failed ["times": 4]"#])
        // What did not come for long is told as if for the first time, with what was left untold.
        self.pass(1000)
        log.note("a", [:])
        log.note("b", [:])
        #expect(self.told.dropFirst(3) == ["error it failed [:]", #"error it failed ["times": 3]"#])
    }

    @Test func `a clock that is set back keeps nothing untold`() {
        let log = self.log()
        log.note("a", [:])
        self.pass(-3600)
        log.note("a", [:])
        #expect(self.told.count == 2)
    }

    @Test func `causes without number make for a bounded number of lines and are forgotten`() {
        let log = self.log()
        for number in 0..<1000 { log.note("cause \(number)", [:]) }
        #expect(self.told.count == RecurringLog.capacity + 1)
        self.pass(10)
        log.note("another", [:])
        #expect(self.told.count == RecurringLog.capacity + 2)
        log.note("another", [:])
        #expect(self.told.count == RecurringLog.capacity + 2)
    }
}
