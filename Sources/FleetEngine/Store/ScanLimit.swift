// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Lets a few scans through at a time, so that they leave readers to those that look one resource up.
final class ScanLimit: Sendable {
    private struct State: Sendable {
        var free: Int
        /// Who waits, told whether it may go on.
        var waiting: [CheckedContinuation<Bool, Never>] = []
    }

    private let state: Locked<State>
    private let waitingLimit: Int

    /// Makes a limit.
    ///
    /// - Parameters:
    ///   - count: How many scan at once.
    ///   - waitingLimit: How many more may wait.
    init(_ count: Int, waitingLimit: Int) {
        self.state = Locked(State(free: count))
        self.waitingLimit = waitingLimit
    }

    /// Runs a scan when it is its turn.
    ///
    /// - Parameter scan: The scan.
    /// - Returns: What the scan returns.
    /// - Throws: What the scan throws, or ``EngineError`` with `UNAVAILABLE` where too many wait.
    func pass<Answer>(_ scan: () async throws -> Answer) async throws -> Answer {
        guard await self.enter() else {
            throw EngineError.store("STORE_OVERLOADED", "Too much waits for the store; retry in a second.")
        }
        defer { self.leave() }
        return try await scan()
    }

    private func enter() async -> Bool {
        await withCheckedContinuation { continuation in
            let answer = self.state.withLock { state -> Bool? in
                if state.free > 0 {
                    state.free -= 1
                    return true
                }
                guard state.waiting.count < self.waitingLimit else { return false }
                state.waiting.append(continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    private func leave() {
        let next = self.state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard !state.waiting.isEmpty else {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume(returning: true)
    }
}
