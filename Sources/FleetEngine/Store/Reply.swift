// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Where a store's thread gives the answer that a task waits for.
///
/// The answer goes through a lock and the continuation only tells that it is there. A continuation alone would do, but
/// the thread sanitizer does not see what orders one that is resumed before it is awaited, and takes every answer of
/// more than one word for a race.
struct Reply<Answer: Sendable>: Sendable {
    private let answer: Locked<Result<Answer, any Error>>
    private let continuation: CheckedContinuation<Void, Never>

    /// Waits for an answer.
    ///
    /// - Parameter ask: Sends the question; the reply must be resumed once.
    /// - Returns: What the reply was resumed with.
    /// - Throws: The error that it was resumed with.
    static func wait(_ ask: (Self) -> Void) async throws -> Answer {
        // Nobody meets the error: the task goes on only when an answer has taken its place.
        let answer = Locked<Result<Answer, any Error>>(.failure(CancellationError()))
        await withCheckedContinuation { ask(Self(answer: answer, continuation: $0)) }
        return try answer.withLock { $0 }.get()
    }

    /// Gives the answer, and has the task go on.
    func resume(with result: Result<Answer, any Error>) {
        self.answer.withLock { $0 = result }
        self.continuation.resume()
    }
}
