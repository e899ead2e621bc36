// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient

/// The fixes that the engine does not have yet.
struct FixBuffer: Sendable {
    /// The fixes of one report.
    struct Batch: Sendable {
        /// The newest location, if any is known.
        var last: LocationFix?
        /// Earlier unsent locations, oldest first.
        var past: [LocationFix]
        /// The number of the first fix that was unsent when the batch was made.
        var start: Int
        /// The number of the first fix that was recorded after the batch was made.
        var end: Int
    }

    private(set) var newest: LocationFix?
    private let capacity: Int
    private var unsent: [LocationFix] = []
    /// The number of the first unsent fix, counted from the first one ever recorded.
    private var firstUnsent = 0
    private var dropped = 0

    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    var unsentCount: Int { self.unsent.count }

    mutating func record(_ fix: LocationFix) {
        self.newest = fix
        self.unsent.append(fix)
        self.removeOldest(max(0, self.unsent.count - self.capacity), counted: true)
    }

    /// What is unsent, or else the newest fix once more where that is wanted.
    func batch(repeatingNewest: Bool) -> Batch {
        Batch(
            last: self.unsent.last ?? (repeatingNewest ? self.newest : nil),
            past: self.unsent.dropLast(),
            start: self.firstUnsent,
            end: self.firstUnsent + self.unsent.count
        )
    }

    /// Takes note of what became of a batch.
    mutating func finish(_ batch: Batch, _ failure: EngineFailure?) {
        // The same fixes would be refused again, and everything behind them would wait for ever.
        let isRefused = failure?.code == .invalidArgument
        guard failure == nil || isRefused else { return }
        // The newest fix would be refused at each repetition, and the state with it.
        if isRefused, self.newest == batch.last { self.newest = nil }
        // What had to make room while the batch was on its way has arrived with it.
        if failure == nil { self.dropped -= min(self.firstUnsent, batch.end) - batch.start }
        self.removeOldest(max(0, batch.end - self.firstUnsent), counted: isRefused)
    }

    /// Forgets everything, which loses what is unsent.
    mutating func forget() {
        self.removeOldest(self.unsent.count, counted: true)
        self.newest = nil
    }

    /// How many fixes were lost since this was last asked.
    mutating func takeDropped() -> Int {
        defer { self.dropped = 0 }
        return self.dropped
    }

    private mutating func removeOldest(_ count: Int, counted: Bool) {
        self.unsent.removeFirst(count)
        self.firstUnsent += count
        if counted { self.dropped += count }
    }
}
