// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens

/// An answer that C owes: the first one counts, and cancelling the wait is one, too.
final class PendingAnswer<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Value, any Error>)
        case ended(Result<Value, any Error>)
    }

    private let state = Locked<State>(.open)

    /// Ends the wait, unless it has ended.
    func end(with result: Result<Value, any Error>) {
        let waiting: CheckedContinuation<Value, any Error>? = self.state.withLock { state in
            defer { if case .ended = state {} else { state = .ended(result) } }
            return if case .awaited(let continuation) = state { continuation } else { nil }
        }
        waiting?.resume(with: result)
    }

    /// Waits for the answer; to be called once.
    ///
    /// - Returns: The answer.
    /// - Throws: What it was ended with, or `CancellationError`.
    func value() async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let ended: Result<Value, any Error>? = self.state.withLock { state in
                    if case .ended(let result) = state { return result }
                    state = .awaited(continuation)
                    return nil
                }
                if let ended { continuation.resume(with: ended) }
            }
        } onCancel: {
            self.end(with: .failure(CancellationError()))
        }
    }
}
