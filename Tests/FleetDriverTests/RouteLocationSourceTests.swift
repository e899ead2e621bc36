// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct RouteLocationSourceTests {
    private static func route() throws -> Route {
        try Route(
            fixes: [0, 10, 30].map { second in
                try LocationFix(
                    latitude: Double(second), longitude: 0, speed: 3,
                    time: Date(timeIntervalSince1970: 1_000 + Double(second)))
            })
    }

    @Test(arguments: [(1.0, 10, 20), (10.0, 1, 2), (0.5, 20, 40)])
    func `fixes come when their time has come`(speed: Double, first: Int, second: Int) async throws {
        let clock = ManualClock()
        let start = Date(timeIntervalSince1970: 5_000)
        let source = try RouteLocationSource(route: Self.route(), speed: speed, start: start, clock: clock)
        let drive = Task {
            var seen: [(fix: LocationFix, at: Duration)] = []
            for try await fix in source { seen.append((fix, clock.now.sinceStart)) }
            return seen
        }
        for step in [first, second] {
            await clock.waitForSleepers(1)
            clock.advance(by: .seconds(step) - .milliseconds(1))
            await clock.waitForSleepers(1)
            clock.advance(by: .milliseconds(1))
        }
        let seen = try await drive.value
        let due = [.zero, Duration.seconds(first), .seconds(first + second)]
        #expect(seen.map(\.at) == due)
        #expect(seen.map { $0.fix.time.timeIntervalSince(start) } == due.map { $0 / .seconds(1) })
        #expect(seen.map(\.fix.latitude) == [0, 10, 30])
        #expect(seen.allSatisfy { $0.fix.speed == 3 * speed })
    }

    @Test func `a drive has the time at which it begins, unless another is given`() async throws {
        let source = try RouteLocationSource(route: Self.route(), clock: ManualClock())
        var first = source.makeAsyncIterator()
        let between = Date()
        var second = source.makeAsyncIterator()
        #expect(try #require(await first.next()).time <= between)
        #expect(try #require(await second.next()).time >= between)

        let start = Date(timeIntervalSince1970: 5_000)
        let dated = try RouteLocationSource(route: Self.route(), start: start, clock: ManualClock())
        for _ in 1...2 {
            var drive = dated.makeAsyncIterator()
            #expect(try await drive.next()?.time == start)
        }
    }

    @Test func `who comes late gets the missed fixes at once`() async throws {
        let clock = ManualClock()
        let source = try RouteLocationSource(route: Self.route(), clock: clock)
        var drive = source.makeAsyncIterator()
        clock.advance(by: .seconds(100))
        var count = 0
        while try await drive.next() != nil { count += 1 }
        #expect(count == 3)
    }

    @Test(arguments: [0, -1, 0.0009, .leastNonzeroMagnitude, .nan, .infinity])
    func `a speed must not be close to zero`(speed: Double) throws {
        let error = try #require(throws: DriverError.self) {
            try RouteLocationSource(route: Self.route(), speed: speed)
        }
        #expect(error.code == .invalidSpeed)
        #expect(error.message.contains("use 0.001 or more"))
    }

    @Test func `a cancelled drive ends`() async throws {
        let source = try RouteLocationSource(route: Self.route(), clock: ManualClock())
        let drive = Task { for try await _ in source {} }
        drive.cancel()
        await #expect(throws: CancellationError.self) { try await drive.value }
    }
}
