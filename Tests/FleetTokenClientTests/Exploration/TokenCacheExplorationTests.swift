// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Tries every order of events on the cache's state machine: more than a million states.
///
/// In release builds the exploration of three subjects goes further, in some ten minutes and 20 GB of memory:
/// `swift test -c release -Xswiftc -enable-testing --filter TokenCacheExplorationTests`. Where memory or time is short,
/// as under a sanitizer, `FLEETPASS_EXPLORED_STATES=10000` ends each exploration after so many states.
@Suite(.timeLimit(.minutes(60))) struct TokenCacheExplorationTests {
    #if DEBUG
        private static let statesOfThreeSubjects = 800_000
    #else
        private static let statesOfThreeSubjects = 3_000_000
    #endif
    private static let limit = ProcessInfo.processInfo.environment["FLEETPASS_EXPLORED_STATES"].flatMap { Int($0) }

    @Test func `every promise holds in every state of one subject, however many events come`() async {
        var explorer = StateExplorer(ExploredSettings(subjects: 1, capacity: 1, waiters: 2))
        let report = await explorer.run(states: Self.limit ?? .max)
        #expect(report.failure == nil)
        #expect(report.isClosed == (Self.limit == nil))
        #expect(report.states >= Self.limit ?? 200_000)
    }

    @Test func `every promise holds while three subjects compete for two places, up to a depth`() async {
        var explorer = StateExplorer(ExploredSettings(subjects: 3, capacity: 2, waiters: 1))
        let report = await explorer.run(states: Self.limit ?? Self.statesOfThreeSubjects)
        #expect(report.failure == nil)
        #expect(report.states >= Self.limit ?? Self.statesOfThreeSubjects)
        #expect(report.depth >= (Self.limit == nil ? 7 : 1))
    }
}
