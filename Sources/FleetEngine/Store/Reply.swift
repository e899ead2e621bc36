// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Where a store's thread gives the answer that one task waits for; it may be there before the task waits.
///
/// The answer goes through a lock and the continuation only tells that it is there. A continuation alone would do, but
/// the thread sanitizer does not see what orders one that is resumed before it is awaited, and takes every answer of
/// more than one word for a race.
final class Reply<Answer: Sendable>: Sendable {
    private enum State: Sendable {
        case open
        case awaited(CheckedContinuation<Void, Never>)
        case given(Result<Answer, any Error>)
    }

    private let state = Locked(State.open)

    /// Gives the answer and has the task go on; a later answer counts for nothing.
    func give(_ result: Result<Answer, any Error>) {
        let before = self.state.withLock { state in
            let before = state
            if case .given = before { return before }
            state = .given(result)
            return before
        }
        if case .awaited(let continuation) = before { continuation.resume() }
    }

    /// Whether there is an answer.
    var isGiven: Bool { self.state.withLock { if case .given = $0 { true } else { false } } }

    /// What was given, as soon as it is; for one task.
    func wait() async throws -> Answer {
        await withCheckedContinuation { continuation in
            let isGiven = self.state.withLock { state in
                if case .given = state { return true }
                state = .awaited(continuation)
                return false
            }
            if isGiven { continuation.resume() }
        }
        guard case .given(let result) = self.state.withLock({ $0 }) else {
            preconditionFailure("A task that waits for a reply goes on only when it is given.")
        }
        return try result.get()
    }
}
