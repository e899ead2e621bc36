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
        /// The numbers of those that were unsent when the batch was made.
        var numbers: Set<Int>
    }

    /// A fix with its number, counted from the first one ever recorded.
    private struct Numbered: Sendable {
        let number: Int
        let fix: LocationFix
    }

    /// How many fixes one report takes: some 100 KB, where the engine takes no more than 1 MiB.
    static let largestBatch = 500

    private(set) var newest: LocationFix?
    private let capacity: Int
    /// Oldest first; numbers are left out where the newest fix arrived before those that were recorded earlier.
    private var unsent: [Numbered] = []
    private var recorded = 0
    private var dropped = 0
    /// How many fixes the next report takes: fewer where something before the engine does not let so many through.
    private var batchLimit = Self.largestBatch

    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    var unsentCount: Int { self.unsent.count }

    /// Whether there is no fix to send, new or once more.
    var isEmpty: Bool { self.newest == nil && self.unsent.isEmpty }

    mutating func record(_ fix: LocationFix) {
        self.newest = fix
        self.unsent.append(Numbered(number: self.recorded, fix: fix))
        self.recorded += 1
        let excess = max(0, self.unsent.count - self.capacity)
        self.unsent.removeFirst(excess)
        self.dropped += excess
    }

    /// The newest fix and the oldest of those that are unsent, or else the newest once more where that is wanted.
    func batch(repeatingNewest: Bool) -> Batch {
        guard let latest = self.unsent.last else {
            return Batch(last: repeatingNewest ? self.newest : nil, past: [], numbers: [])
        }
        // What is left of a backlog goes behind the newest fix, which arrived with the first part of it.
        let arrived = latest.number == self.recorded - 1 ? nil : self.newest
        let earlier = self.unsent.count - (arrived == nil ? 1 : 0)
        let past = self.unsent.prefix(min(earlier, self.batchLimit - 1))
        var numbers = Set(past.map(\.number))
        if arrived == nil { numbers.insert(latest.number) }
        return Batch(last: arrived ?? latest.fix, past: past.map(\.fix), numbers: numbers)
    }

    /// Takes note of what became of a batch.
    mutating func finish(_ batch: Batch, _ failure: EngineFailure?) {
        self.learnLimit(from: failure)
        // The same fixes would be refused again, and everything behind them would wait for ever.
        let isRefused = failure?.code == .invalidArgument && failure?.isEnginesOwn == true
        guard failure == nil || isRefused else { return }
        // The newest fix would be refused at each repetition, and the state with it.
        if isRefused, self.newest == batch.last { self.newest = nil }
        // The one that arrived in its place is repeated, so that no older one is reported as the last.
        if failure == nil, self.newest == nil { self.newest = batch.last }
        let before = self.unsent.count
        self.unsent.removeAll { batch.numbers.contains($0.number) }
        let removed = before - self.unsent.count
        // What had to make room while the batch was on its way has arrived with it.
        self.dropped += isRefused ? removed : removed - batch.numbers.count
    }

    private mutating func learnLimit(from failure: EngineFailure?) {
        guard let failure else {
            self.batchLimit = min(self.batchLimit * 2, Self.largestBatch)
            return
        }
        // It may be the length; what asks for another token or for patience, or misses the engine, is not about it.
        guard failure.stage == .engine, !failure.isEnginesOwn, let status = failure.httpStatus,
            (400..<500).contains(status), ![401, 404, 429].contains(status)
        else { return }
        self.batchLimit = max(1, self.batchLimit / 2)
    }

    /// Forgets everything, which loses what is unsent.
    mutating func forget() {
        self.dropped += self.unsent.count
        self.unsent = []
        self.newest = nil
    }

    /// How many fixes were lost since this was last asked.
    mutating func takeDropped() -> Int {
        defer { self.dropped = 0 }
        return self.dropped
    }
}
