// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Does some work until it ends, an alarm goes off, or the calling task is cancelled.
///
/// Work that ignores its cancellation is left behind, which a task group could not do.
///
/// - Parameters:
///   - work: The work.
///   - alarm: Waits, and says what the outcome is then; `nil` where it was cancelled, which it must heed.
/// - Returns: What became of the work first.
package func firstOutcome<Value: Sendable>(
    of work: @escaping @Sendable () async throws -> Value, orAfter alarm: @escaping @Sendable () async -> (any Error)?
) async -> Result<Value, any Error> {
    let (outcomes, sink) = AsyncStream.makeStream(
        of: Result<Value, any Error>.self, bufferingPolicy: .bufferingOldest(1))
    let working = Task {
        do {
            sink.yield(.success(try await work()))
        } catch {
            sink.yield(.failure(error))
        }
    }
    let waiting = Task {
        if let error = await alarm() { sink.yield(.failure(error)) }
    }
    let first = await outcomes.first { _ in true }
    working.cancel()
    waiting.cancel()
    // Unlike the work, it obeys, and nobody sleeps for this any more.
    await waiting.value
    return first ?? .failure(CancellationError())
}

extension Duration {
    /// The limit as a clock can wait for it: clocks trap at the longest durations, by which one may say that there is none.
    package var waitable: Duration { min(self, .seconds(365 * 86_400)) }
}
