// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens

/// Which calls hedge, and whether a second one is affordable; saying so counts it.
struct Hedging: Sendable {
    let calls: HedgedCalls
    let mayHedge: @Sendable () -> Bool
}

/// Makes calls, and makes a call a second time when it takes longer than nearly all before it did.
///
/// The first success counts and the other call is cancelled. At most one call in twenty is made twice in normal
/// running, because the threshold is the observed 95th percentile of the time to success.
final class HedgedCalls: Sendable {
    private enum Outcome<Answer: Sendable>: Sendable {
        case answer(Answer)
        case failure(any Error)
        /// The first call has taken long.
        case due
    }

    private let latencies = Locked(LatencyWindow())
    private let time: TimeSource

    init(time: TimeSource) {
        self.time = time
    }

    /// Makes a call.
    ///
    /// - Parameters:
    ///   - mayHedge: Whether a second call is affordable, asked when one is due.
    ///   - call: The call, which must be harmless to make twice and heed cancellation.
    /// - Returns: The first answer.
    /// - Throws: The error of the call that failed last; `CancellationError`.
    func run<Answer: Sendable>(
        mayHedge: @escaping @Sendable () -> Bool, _ call: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        let start = self.time.uptime
        let answer: Answer
        if let threshold = self.latencies.withLock({ $0.p95 }) {
            answer = try await self.race(after: threshold, mayHedge: mayHedge, call)
        } else {
            answer = try await call()
        }
        let latency = self.time.uptime - start
        self.latencies.withLock { $0.record(latency) }
        return answer
    }

    private func race<Answer: Sendable>(
        after threshold: Duration, mayHedge: @escaping @Sendable () -> Bool,
        _ call: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        let outcome: @Sendable () async -> Outcome<Answer> = {
            do { return .answer(try await call()) } catch { return .failure(error) }
        }
        return try await withThrowingTaskGroup(of: Outcome<Answer>.self) { group in
            group.addTask { await outcome() }
            group.addTask {
                try await self.time.sleep(for: threshold)
                return .due
            }
            defer { group.cancelAll() }
            var calls = 1
            while let result = try await group.next() {
                switch result {
                case .answer(let answer): return answer
                case .due:
                    guard mayHedge() else { continue }
                    calls += 1
                    group.addTask { await outcome() }
                case .failure(let error):
                    calls -= 1
                    guard calls > 0 else { throw error }
                }
            }
            throw CancellationError()
        }
    }
}
