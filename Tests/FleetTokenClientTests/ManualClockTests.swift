// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Testing

@Suite(.timeLimit(.minutes(10))) struct ManualClockTests {
    @Test func `it stands still until it is moved, and never goes back`() {
        let clock = ManualClock()
        let start = clock.now
        #expect(clock.now == start)
        clock.advance(by: .seconds(5))
        clock.advance(by: .seconds(-3))
        #expect(start.duration(to: clock.now) == .seconds(5))
    }

    @Test func `a sleeper wakes at its moment and not before`() async throws {
        let clock = ManualClock()
        let woken = Locked<[Int]>([])
        let sleepers = [30, 10, 20].map { seconds in
            Task {
                try await clock.sleep(for: .seconds(seconds))
                woken.withLock { $0.append(seconds) }
            }
        }
        await clock.waitForSleepers(3)
        clock.advance(by: .seconds(10))
        try await sleepers[1].value
        #expect(woken.withLock { $0 } == [10])
        clock.advance(by: .seconds(20))
        for sleeper in sleepers { try await sleeper.value }
        #expect(Set(woken.withLock { $0 }) == [10, 20, 30])
    }

    @Test func `a moment that has passed does not wait`() async throws {
        let clock = ManualClock()
        clock.advance(by: .seconds(5))
        try await clock.sleep(for: .zero)
    }

    @Test func `a cancelled sleeper leaves at once`() async {
        let clock = ManualClock()
        let sleeper = Task { try await clock.sleep(for: .seconds(1)) }
        await clock.waitForSleepers(1)
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
    }
}
