// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokens
import Testing

@testable import FleetSigning

@Suite struct RefreshMachineTests {
    private func decision(of machine: RefreshMachine<String>, at seconds: Int) -> String {
        var machine = machine
        return switch machine.ask(at: .seconds(seconds)) {
        case .serve(_, let startsRefresh): startsRefresh ? "serve and refresh" : "serve"
        case .wait(let startsRefresh): startsRefresh ? "wait and refresh" : "wait"
        case .fail: "fail"
        }
    }

    /// Seconds before the end: where renewal begins without jitter and with the most, and where callers wait for it.
    @Test(
        arguments: [(.accessToken, 225, 180, 60), (.fleetToken, 900, 600, 300)] as [(RefreshWindows, Int, Int, Int)])
    func `a value is renewed within the advisory window, put off by the jitter, and waited for in the mandatory one`(
        windows: RefreshWindows, first: Int, last: Int, mandatory: Int
    ) {
        let end = 3600
        for (random, start) in [(0.0, end - first), (0.5, end - (first + last) / 2), (1.0, end - last)] {
            var machine = RefreshMachine<String>(windows: windows)
            _ = machine.ask(at: .zero)
            machine.succeed("value", endingAt: .seconds(end), at: .zero, random: random)
            #expect(self.decision(of: machine, at: start - 1) == "serve")
            #expect(self.decision(of: machine, at: start + 1) == "serve and refresh")
            #expect(self.decision(of: machine, at: end - mandatory - 1) == "serve and refresh")
            #expect(self.decision(of: machine, at: end - mandatory) == "wait and refresh")
        }
    }

    @Test func `a value that ends within the pause is asked for again when it has ended`() {
        var machine = RefreshMachine<String>(windows: .accessToken)
        guard case .wait(startsRefresh: true) = machine.ask(at: .zero) else {
            Issue.record("Nothing was asked for.")
            return
        }
        machine.succeed("short", endingAt: .seconds(3), at: .zero, random: 0)
        guard case .serve("short", startsRefresh: false) = machine.ask(at: .seconds(2)) else {
            Issue.record("The value was not handed out, or asked for again.")
            return
        }
        guard case .wait(startsRefresh: true) = machine.ask(at: .seconds(3)) else {
            Issue.record("Callers were refused for want of a value, and nobody asked for one.")
            return
        }
    }

    @Test func `a value that has ended when it arrives counts as none`() {
        var machine = RefreshMachine<String>(windows: .accessToken)
        _ = machine.ask(at: .zero)
        machine.succeed("late", endingAt: .seconds(1), at: .seconds(2), random: 1)
        guard case .fail(is EndedOnArrival) = machine.ask(at: .seconds(2)) else {
            Issue.record("The source is asked again at once.")
            return
        }
    }

    @Test func `a value that has ended when it arrives is handed to nobody, whoever waited`() async throws {
        let clock = ManualClock()
        let cache = RefreshingCache<String, String>(windows: .accessToken, time: TimeSource(clock: clock)) { _ in
            clock.advance(by: .seconds(2))
            return ("late", .seconds(1))
        }
        await #expect(throws: EndedOnArrival.self) { try await cache.value(for: "key") }
        await #expect(throws: EndedOnArrival.self) { try await cache.value(for: "key") }
    }

    @Test func `a value serves until its end, and not at it`() {
        var machine = RefreshMachine<String>(windows: .accessToken)
        _ = machine.ask(at: .zero)
        machine.succeed("value", endingAt: .seconds(100), at: .zero, random: 0)
        #expect(machine.value(at: .seconds(99)) == "value")
        #expect(machine.value(at: .seconds(100)) == nil)
        machine.succeed("ended", endingAt: .seconds(200), at: .seconds(200), random: 0)
        #expect(machine.value(at: .seconds(200)) == nil)
    }

    @Test func `a value that is to be renewed is waited for, and serves where that fails`() {
        var machine = RefreshMachine<String>(windows: .accessToken)
        _ = machine.ask(at: .zero)
        machine.succeed("value", endingAt: .seconds(3600), at: .zero, random: 0)
        machine.renew(at: .seconds(10), isUseless: false)
        #expect(self.decision(of: machine, at: 10) == "wait and refresh")
        _ = machine.ask(at: .seconds(10))
        machine.fail(CancellationError(), at: .seconds(10), random: 1)
        #expect(self.decision(of: machine, at: 10) == "serve")
    }

    @Test func `a success ends the growing of pauses`() {
        var machine = RefreshMachine<String>(windows: .accessToken)
        for _ in 0..<4 { machine.fail(CancellationError(), at: .zero, random: 1) }
        #expect(self.decision(of: machine, at: 7) == "fail")
        #expect(self.decision(of: machine, at: 8) == "wait and refresh")
        machine.succeed("value", endingAt: .seconds(20), at: .seconds(8), random: 0)
        machine.fail(CancellationError(), at: .seconds(20), random: 1)
        #expect(self.decision(of: machine, at: 21) == "wait and refresh")
    }

    @Test(arguments: [(3, 3), (600, 10)])
    func `a failure that names its pause is kept to, up to the longest there is`(named: Int, pause: Int) {
        var machine = RefreshMachine<String>(windows: .accessToken)
        _ = machine.ask(at: .zero)
        machine.fail(EndedOnArrival(pause: .seconds(named)), at: .seconds(100), random: 0)
        guard case .fail(let error) = machine.ask(at: .seconds(101)) else {
            Issue.record("The pause was not kept.")
            return
        }
        #expect((error as? EndedOnArrival)?.pause == .seconds(pause - 1))
        #expect(self.decision(of: machine, at: 99 + pause) == "fail")
        #expect(self.decision(of: machine, at: 100 + pause) == "wait and refresh")
    }
}

@Suite struct RefreshingCacheTests {
    private let clock = ManualClock()

    private func cache(
        capacity: Int = 8, fetch: @escaping @Sendable (String) async throws -> String = { $0 }
    ) -> RefreshingCache<String, String> {
        RefreshingCache(windows: .accessToken, capacity: capacity, time: TimeSource(clock: self.clock)) { key in
            (try await fetch(key), .seconds(3600))
        }
    }

    @Test func `there are no more values than there is room for`() async throws {
        let cache = self.cache(capacity: 2)
        for key in ["a", "b", "c", "d"] { #expect(try await cache.value(for: key) == key) }
        #expect(["a", "b", "c", "d"].compactMap(cache.current).count == 2)
        #expect(cache.current("d") == "d")
    }

    @Test(.timeLimit(.minutes(1))) func `what somebody waits for keeps its room`() async throws {
        let (opened, open) = AsyncStream.makeStream(of: Void.self)
        let cache = self.cache(capacity: 1) { key in
            if key == "slow" { for await _ in opened { break } }
            return key
        }
        let slow = Task { try await cache.value(for: "slow") }
        while cache.statistics.misses == 0 { await Task.yield() }
        #expect(try await cache.value(for: "quick") == "quick")
        open.yield()
        #expect(try await slow.value == "slow")
    }

    @Test func `only the value that is meant is dropped or renewed`() async throws {
        let count = Locked(0)
        let cache = self.cache { key in
            let number = count.withLock { count -> Int in
                count += 1
                return count
            }
            return "\(key) \(number)"
        }
        #expect(try await cache.value(for: "a") == "a 1")
        self.clock.advance(by: .seconds(60))
        #expect(cache.discard("a") { $0 == "a 0" })
        cache.renew("a", isUseless: true) { $0 == "a 0" }
        #expect(try await cache.value(for: "a") == "a 1")
        cache.renew("a", isUseless: true) { $0 == "a 1" }
        #expect(try await cache.value(for: "a") == "a 2")
        #expect(!cache.discard("a") { $0 == "a 2" }, "a value is not fetched again at once")
        self.clock.advance(by: .seconds(60))
        #expect(cache.discard("a") { $0 == "a 2" })
        #expect(try await cache.value(for: "a") == "a 3")
    }
}
