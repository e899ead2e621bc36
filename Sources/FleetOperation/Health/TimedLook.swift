// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetSigning
import FleetTokens

/// Looks at something that may be stuck, once for all who ask meanwhile.
///
/// Nobody waits longer than a limit. What is stuck is not looked at again before it has answered.
package final class TimedLook<Finding: Sendable>: Sendable {
    private struct Waiter: Sendable {
        let finding: Locked<Finding?>
        /// Ends with the limit, or is cancelled when the finding is there.
        let patience: Task<Void, Never>
    }

    private struct State: Sendable {
        var isLooking = false
        /// Who waits for the look that is under way, by number.
        var waiters: [Int: Waiter] = [:]
        var nextNumber = 0
    }

    private let limit: Duration
    private let late: Finding
    private let time: TimeSource
    private let look: @Sendable () async -> Finding
    private let state = Locked(State())

    /// Prepares looks.
    ///
    /// - Parameters:
    ///   - limit: How long is waited for what a look finds.
    ///   - late: What is told where that took longer.
    ///   - time: Measures the limit.
    ///   - look: Looks; it need not heed cancellation.
    package init(
        within limit: Duration, orElse late: Finding, time: TimeSource, _ look: @escaping @Sendable () async -> Finding
    ) {
        self.limit = limit
        self.late = late
        self.time = time
        self.look = look
    }

    /// What a look finds, or what is told instead; whether the caller is cancelled makes no difference.
    package func finding() async -> Finding {
        let finding = Locked<Finding?>(nil)
        let patience = Task { [time, limit] in _ = try? await time.sleep(for: limit) }
        let (number, isFirst) = self.state.withLock { state in
            defer {
                state.nextNumber += 1
                state.isLooking = true
            }
            state.waiters[state.nextNumber] = Waiter(finding: finding, patience: patience)
            return (state.nextNumber, !state.isLooking)
        }
        // Unstructured on purpose: nobody waits for what is stuck, and who asked first may have gone.
        if isFirst { Task { await self.begin() } }
        await patience.value
        // A look that never ends must not remember all who ever asked.
        self.state.withLock { _ = $0.waiters.removeValue(forKey: number) }
        return finding.withLock { $0 } ?? self.late
    }

    /// How many wait.
    package var waiterCount: Int { self.state.withLock { $0.waiters.count } }

    private func begin() async {
        let finding = await self.look()
        let waiters = self.state.withLock { state in
            state.isLooking = false
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters {
            waiter.finding.withLock { $0 = finding }
            waiter.patience.cancel()
        }
    }
}
