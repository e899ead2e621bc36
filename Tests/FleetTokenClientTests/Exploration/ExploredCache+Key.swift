// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient

extension ExploredCache {
    /// A number that is equal for states with equal futures.
    ///
    /// Moments count from now; those that are past count as one where the past is all that matters. Callers and tokens
    /// have no names, only numbers of them and whether they are the same. The machine draws its chances anew at each
    /// step, so its generator is no part of the state. Two states share a number by accident with a probability
    /// below 10⁻⁶ for a million states.
    var key: UInt64 {
        var mixer = Mixer()
        for (index, observed) in self.observed.enumerated() {
            mixer.add(observed.key)
            // Which one is forgotten first is a matter of order only.
            for other in 0..<index { mixer.add(self.observed[other].lastUse < observed.lastUse ? 2 : 3) }
        }
        return mixer.value
    }

    /// The same for one subject, apart from the order of uses.
    func key(of index: Int, _ entry: TokenCacheEntry) -> UInt64 {
        let observed = self.observed[index]
        var mixer = Mixer()
        mixer.add(observed.isTroubled ? 2 : 3)
        mixer.add(observed.token == nil ? 2 : 3)
        mixer.add(observed.flight != nil && observed.hasRestored ? 2 : 3)
        mixer.add(observed.flight != nil && observed.hasLostPatience ? 2 : 3)
        mixer.add(entry.backOff?.error.code == .excessiveRefresh ? 2 : 3)
        self.add(entry.held?.refreshAt, to: &mixer)
        self.add(entry.held?.floorAt, to: &mixer)
        self.add(entry.held?.expiresAt, to: &mixer)
        self.add(entry.flight, to: &mixer)
        self.add(entry.backOff?.retryAt, to: &mixer)
        self.add(observed.retryAt, to: &mixer)
        // The pause stops growing at the cap, here with the second failure.
        mixer.add(UInt64(min(entry.backOff?.failures ?? 0, 2)))
        mixer.add(UInt64(observed.refused.count))
        if let last = entry.lastArrival {
            // What the server gave is forgotten after five minutes.
            let remembered = last.at.advanced(by: .seconds(300))
            self.add(remembered, to: &mixer)
            if self.now < remembered { mixer.add(Self.nanoseconds(last.life)) }
        }
        for refusal in entry.refusals { self.add(refusal.at.advanced(by: .seconds(60)), to: &mixer) }
        return mixer.value
    }

    private func add(_ moment: MonotonicInstant?, to mixer: inout Mixer) {
        guard let moment else { return mixer.add(1) }
        mixer.add(moment <= self.now ? 2 : Self.nanoseconds(self.now.duration(to: moment)))
    }

    private func add(_ flight: TokenCacheEntry.Flight?, to mixer: inout Mixer) {
        guard let flight else { return mixer.add(1) }
        mixer.add(UInt64(flight.waiters.callers.count) + 2)
        for life in flight.waiters.lives.values.sorted() { mixer.add(Self.nanoseconds(life)) }
        // Beyond the longest life every answer comes too late.
        mixer.add(Self.nanoseconds(min(flight.startedAt.duration(to: self.now), ExploredSettings.goodLife)))
    }

    private static func nanoseconds(_ duration: Duration) -> UInt64 {
        let (seconds, attoseconds) = duration.components
        return UInt64(bitPattern: seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000)
    }

    /// A fast hash of a sequence of numbers (the mixing steps of MurmurHash3).
    private struct Mixer {
        var value: UInt64 = 0x9E37_79B9_7F4A_7C15

        mutating func add(_ number: UInt64) {
            var mixed = self.value ^ (number &+ 0x9E37_79B9_7F4A_7C15)
            mixed = (mixed ^ (mixed >> 33)) &* 0xFF51_AFD7_ED55_8CCD
            mixed = (mixed ^ (mixed >> 29)) &* 0xC4CE_B9FE_1A85_EC53
            self.value = mixed ^ (mixed >> 32)
        }
    }
}
