// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning
import FleetTestSupport
import FleetTokens
import Logging
import ServiceLifecycle
import Testing

@Suite(.timeLimit(.minutes(5))) struct UntilShutdownTests {
    private let clock = ManualClock()
    private let times = Locked(0)

    /// Counts how often it comes to its turn.
    private struct Counting: Service {
        let clock: ManualClock
        let times: Locked<Int>
        var waitsFirst = false

        func run() async {
            let time = TimeSource(clock: self.clock)
            await untilShutdown(every: .seconds(2), waitingFirst: self.waitsFirst, time: time) {
                self.times.withLock { $0 += 1 }
            }
        }
    }

    private var count: Int { self.times.withLock { $0 } }

    @Test func `it is done at once and after each pause, until it is cancelled`() async {
        let counting = Counting(clock: self.clock, times: self.times)
        let running = Task { await counting.run() }
        for number in 1...3 {
            await self.clock.waitForSleepers(1)
            self.clock.advance(by: .milliseconds(1999))
            #expect(self.clock.sleeperCount == 1)
            #expect(self.count == number)
            self.clock.advance(by: .milliseconds(1))
        }
        await self.clock.waitForSleepers(1)
        running.cancel()
        await running.value
        #expect(self.count == 4)
    }

    @Test func `where it waits first, nothing is done before the pause is over`() async {
        let counting = Counting(clock: self.clock, times: self.times, waitsFirst: true)
        let running = Task { await counting.run() }
        await self.clock.waitForSleepers(1)
        #expect(self.count == 0)
        self.clock.advance(by: .seconds(2))
        await self.clock.waitForSleepers(1)
        #expect(self.count == 1)
        running.cancel()
        await running.value

        let early = Task { await counting.run() }
        await self.clock.waitForSleepers(1)
        early.cancel()
        await early.value
        #expect(self.count == 1)
    }

    @Test func `a graceful shutdown ends it in the middle of a pause`() async throws {
        let group = ServiceGroup(
            services: [Counting(clock: self.clock, times: self.times)],
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let running = Task { try await group.run() }
        await self.clock.waitForSleepers(1)
        await group.triggerGracefulShutdown()
        try await running.value
        #expect(self.count == 1)
    }
}
