// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTestSupport
import FleetTokens
import Testing

@Suite struct RemoteKeySetTests {
    /// Whether a set that may be used for 1000 s is renewed by who asks for a known key after some of them.
    private func isRenewed(after seconds: Int) async -> Bool {
        let (clock, fetches) = (ManualClock(), Locked(0))
        let set = RemoteKeySet<Set<String>>(time: TimeSource(clock: clock)) {
            fetches.withLock { $0 += 1 }
            return (keys: ["known"], maximumAge: .seconds(1000))
        }
        _ = await set.lookup { $0.contains("known") }
        clock.advance(by: .seconds(seconds))
        _ = await set.lookup { $0.contains("known") }
        // Unknown keys make for one fetch, after a renewal that is under way: its end is waited for, and it is counted.
        for _ in 0..<2 { _ = await set.lookup { $0.contains("unknown") } }
        return fetches.withLock { $0 } == 3
    }

    @Test func `sets that were fetched at one time are renewed at many`() async {
        #expect(await !self.isRenewed(after: 699))
        #expect(await self.isRenewed(after: 900))
        var renewed = 0
        for _ in 0..<64 {
            if await self.isRenewed(after: 800) { renewed += 1 }
        }
        #expect((1..<64).contains(renewed), "at half time of the jitter some are, and others are not")
    }
}
