// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import FleetPostgreSQL

@Suite struct ReconnectDelayTests {
    private static let down = PostgreSQLError(code: .unreachable, message: "down")

    @Test func `attempts grow rarer, but never rarer than every two seconds`() {
        var delay = ReconnectDelay()
        let now = ContinuousClock.now
        #expect(delay.refusal(at: now) == nil)
        for milliseconds in [50, 100, 200, 400, 800, 1600, 2000, 2000] {
            delay.failed(Self.down, at: now, chance: 1)
            #expect(delay.refusal(at: now + .milliseconds(milliseconds - 1))?.message == "down")
            #expect(delay.refusal(at: now + .milliseconds(milliseconds)) == nil)
        }
    }

    @Test func `half of the wait is left to chance, and a connection forgets it`() {
        var delay = ReconnectDelay()
        let now = ContinuousClock.now
        delay.failed(Self.down, at: now, chance: 0)
        #expect(delay.refusal(at: now + .milliseconds(24)) != nil)
        #expect(delay.refusal(at: now + .milliseconds(25)) == nil)
        delay.succeeded()
        #expect(delay.refusal(at: now) == nil)
    }
}
