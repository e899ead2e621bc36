// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Testing

@Suite struct BackoffTests {
    @Test(arguments: [
        (1, 1), (2, 2), (3, 4), (4, 8), (6, 32), (7, 60), (8, 60), (1000, 60), (Int.max, 60), (0, 1), (-1, 1),
    ])
    func `pauses double up to the longest`(failures: Int, seconds: Int) {
        let pauses = Backoff(first: .seconds(1), longest: .seconds(60))
        #expect(pauses.pause(afterFailures: failures) == .seconds(seconds))
    }

    @Test func `a pause may be left to chance in its upper half, or all of it`() {
        let pauses = Backoff(first: .seconds(2), longest: .seconds(6))
        let halves = [0, 0.5, 1].map { pauses.pause(afterFailures: 2, jitter: .upperHalf($0)) }
        #expect(halves == [.seconds(2), .seconds(3), .seconds(4)])
        let whole = [0, 0.5, 1].map { pauses.pause(afterFailures: 3, jitter: .full($0)) }
        #expect(whole == [.zero, .seconds(3), .seconds(6)])
    }

    @Test func `a longest pause that is shorter than the first holds from the start`() {
        #expect(Backoff(first: .seconds(10), longest: .seconds(3)).pause(afterFailures: 1) == .seconds(3))
        #expect(Backoff(first: .seconds(1), longest: .zero).pause(afterFailures: 5) == .zero)
    }
}
