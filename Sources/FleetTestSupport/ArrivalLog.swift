// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens

/// What came in, in order, and who waits for more of it.
final class ArrivalLog<Entry: Sendable>: Sendable {
    private struct State: Sendable {
        var entries: [Entry] = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Locked(State())

    /// Everything so far.
    var entries: [Entry] { self.state.withLock(\.entries) }

    /// Takes an entry in, wakes who waited for it, and says how many came before it.
    @discardableResult
    func append(_ entry: Entry) -> Int {
        let (index, satisfied) = self.state.withLock { state in
            state.entries.append(entry)
            let count = state.entries.count
            let satisfied = state.watchers.filter { $0.count <= count }.map(\.continuation)
            state.watchers.removeAll { $0.count <= count }
            return (count - 1, satisfied)
        }
        for continuation in satisfied { continuation.resume() }
        return index
    }

    /// Waits until so many entries have come.
    func waitForEntries(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isSatisfied = self.state.withLock { state in
                guard state.entries.count < count else { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isSatisfied { continuation.resume() }
        }
    }
}
