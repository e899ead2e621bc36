// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// One cached token whose parts are written one after the other, as three variables without a lock are.
///
/// Each part has a lock of its own, so the result is torn but not undefined; and the writer rests between the parts until
/// somebody reads, so that what is rare on a phone is common here.
final class TornSlot: Sendable {
    private let context = Locked<FetcherContext?>(nil)
    private let content = Locked<(token: String, endsAt: Double)?>(nil)
    private let reads = Locked(0)

    func token(for context: FetcherContext, at now: Double) -> String? {
        self.reads.withLock { $0 += 1 }
        guard self.context.withLock({ $0 }) == context, let content = self.content.withLock({ $0 }),
            now < content.endsAt
        else { return nil }
        return content.token
    }

    func write(_ token: String, for context: FetcherContext, endsAt: Double) {
        self.context.withLock { $0 = context }
        let before = self.reads.withLock { $0 }
        for _ in 0..<10_000 where self.reads.withLock({ $0 }) < before + 2 { sched_yield() }
        self.content.withLock { $0 = (token, endsAt) }
    }
}
