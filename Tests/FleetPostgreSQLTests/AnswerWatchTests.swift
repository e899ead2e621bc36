// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import FleetPostgreSQL

@Suite struct AnswerWatchTests {
    private static let start = ContinuousClock.now
    private static let silent = PostgreSQLError(code: .unreachable, message: "silent")

    private static func after(_ milliseconds: Int) -> ContinuousClock.Instant {
        Self.start + .milliseconds(milliseconds)
    }

    @Test func `a new connection is tried when nothing came for a while, one at a time`() {
        var watch = AnswerWatch(at: Self.start)
        func beginsProbe(_ milliseconds: Int) -> Bool {
            watch.beginsProbe(waitingSince: Self.after(1000), at: Self.after(milliseconds))
        }
        // Whether the wait or the last answer is the younger.
        let waiting = beginsProbe(3999)
        _ = watch.answered(at: Self.after(2000))
        let first = [waiting, beginsProbe(4999), beginsProbe(5000), beginsProbe(9000)]
        #expect(first == [false, false, true, false])
        watch.endProbe(at: Self.after(7000))
        let second = [beginsProbe(9999), beginsProbe(10_000)]
        #expect(second == [false, true])
    }

    @Test func `a server that answers no new connection is in doubt until anything comes`() {
        var watch = AnswerWatch(at: Self.start)
        let isInDoubt = watch.fellSilent(Self.silent, begun: Self.after(3000))
        #expect(isInDoubt)
        #expect(watch.doubt?.message == "silent")
        #expect(watch.silences == 1)
        let ends = [watch.answered(at: Self.after(6000)), watch.answered(at: Self.after(6001))]
        #expect(ends == [true, false])
        #expect(watch.doubt == nil)
        // Connections from before are not to be trusted all the same.
        #expect(watch.silences == 1)
    }

    @Test func `what came during an attempt outweighs that it failed`() {
        var watch = AnswerWatch(at: Self.start)
        let told = [
            watch.answered(at: Self.after(4000)), watch.fellSilent(Self.silent, begun: Self.after(3000)),
            watch.failed(Self.silent, begun: Self.after(3000)),
        ]
        #expect(told == [false, false, false])
        #expect(watch.doubt == nil)
        #expect(watch.silences == 0)
    }

    @Test func `an attempt to connect that failed says nothing about older connections`() {
        var watch = AnswerWatch(at: Self.start)
        let isInDoubt = watch.failed(Self.silent, begun: Self.after(1))
        #expect(isInDoubt)
        #expect(watch.doubt?.message == "silent")
        #expect(watch.silences == 0)
    }

    @Test func `one job at a time finds out more`() {
        var watch = AnswerWatch(at: Self.start)
        watch.admitted()
        #expect(!watch.isTrying)
        _ = watch.failed(Self.silent, begun: Self.after(1))
        #expect(!watch.isTrying)
        watch.admitted()
        #expect(watch.isTrying)
        watch.endTrial()
        #expect(!watch.isTrying)
        watch.admitted()
        _ = watch.answered(at: Self.after(2))
        #expect(!watch.isTrying)
    }
}
