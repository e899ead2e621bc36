// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Lets a few scans through at a time, so that they leave readers to those that look one resource up.
final class ScanLimit: Sendable {
    private struct State: Sendable {
        var free: Int
        /// Who waits, each told once it is taken out of here.
        var waiting: [Reply<Void>] = []
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

    /// How many wait for their turn.
    var waitingCount: Int { self.state.withLock { $0.waiting.count } }

    /// Runs a scan when it is its turn.
    ///
    /// - Parameter scan: The scan.
    /// - Returns: What the scan returns.
    /// - Throws: What the scan throws, ``EngineError`` with `UNAVAILABLE` where too many wait, or `CancellationError`
    ///   where the task is cancelled while it waits.
    func pass<Answer>(_ scan: () async throws -> Answer) async throws -> Answer {
        try await self.enter()
        defer { self.leave() }
        return try await scan()
    }

    private func enter() async throws {
        let turn = Reply<Void>()
        let answer = self.state.withLock { state -> Result<Void, any Error>? in
            if state.free > 0 {
                state.free -= 1
                return .success(())
            }
            guard state.waiting.count < self.waitingLimit else {
                return .failure(
                    EngineError.store("STORE_OVERLOADED", "Too much waits for the store; retry in a second."))
            }
            state.waiting.append(turn)
            return nil
        }
        if let answer { return try answer.get() }
        try await withTaskCancellationHandler {
            try await turn.wait()
        } onCancel: {
            self.withdraw(turn)
        }
    }

    /// Has a task wait no longer, unless it is its turn already.
    private func withdraw(_ turn: Reply<Void>) {
        let isWaiting = self.state.withLock { state in
            guard let place = state.waiting.firstIndex(where: { $0 === turn }) else { return false }
            state.waiting.remove(at: place)
            return true
        }
        if isWaiting { turn.give(.failure(CancellationError())) }
    }

    private func leave() {
        let next = self.state.withLock { state -> Reply<Void>? in
            guard !state.waiting.isEmpty else {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.give(.success(()))
    }
}
