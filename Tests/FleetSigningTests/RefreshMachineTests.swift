// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
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
}
