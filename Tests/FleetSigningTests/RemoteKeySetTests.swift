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

    /// Whether a key was found; `nil` where that cannot be known.
    private func finds(_ key: String, in set: RemoteKeySet<Set<String>>) async -> Bool? {
        switch await set.lookup(patience: .seconds(1), { $0.contains(key) }) {
        case .found: true
        case .unknownKey: false
        case .unavailable: nil
        }
    }

    /// Answers at once when it is asked first, and after that when it is released.
    private final class Publisher: Sendable {
        private let state = Locked((fetches: 0, held: nil as CheckedContinuation<Void, Never>?))

        func fetch() async -> (keys: Set<String>, maximumAge: Duration?) {
            let isFirst = self.state.withLock { state in
                state.fetches += 1
                return state.fetches == 1
            }
            guard !isFirst else { return (keys: ["known"], maximumAge: .seconds(1000)) }
            await withCheckedContinuation { continuation in self.state.withLock { $0.held = continuation } }
            return (keys: ["known", "new"], maximumAge: .seconds(1000))
        }

        func release() async {
            while self.state.withLock({ $0.held }) == nil { await Task.yield() }
            self.state.withLock { $0.held }?.resume()
        }
    }

    @Test func `who asks for an unknown key waits for a slow fetch with patience, and nobody after him`() async {
        let (clock, publisher) = (ManualClock(), Publisher())
        let set = RemoteKeySet<Set<String>>(time: TimeSource(clock: clock)) { await publisher.fetch() }
        #expect(await self.finds("known", in: set) == true)
        async let first = self.finds("new", in: set)
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(1))
        #expect(await first == nil)
        // The clock stands still.
        for _ in 0..<64 { #expect(await self.finds("forged", in: set) == nil) }
        #expect(await self.finds("known", in: set) == true)
        await publisher.release()
        while await self.finds("new", in: set) != true { await Task.yield() }
        #expect(await self.finds("forged", in: set) == false)
    }

    @Test func `a key at hand is good while the renewal of a set that has ended takes long`() async {
        let (clock, publisher) = (ManualClock(), Publisher())
        let set = RemoteKeySet<Set<String>>(time: TimeSource(clock: clock)) { await publisher.fetch() }
        #expect(await self.finds("known", in: set) == true)
        clock.advance(by: .seconds(1001))
        async let first = self.finds("known", in: set)
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(1))
        #expect(await first == true)
        #expect(await self.finds("known", in: set) == true)
        #expect(await self.finds("forged", in: set) == nil)
        await publisher.release()
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
