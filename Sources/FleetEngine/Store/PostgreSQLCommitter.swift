// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetPostgreSQL
import FleetTokens
import Logging

/// Commits groups of writes, again where another node was in the way, and bodies alone that must be.
struct PostgreSQLCommitter {
    private static let attempts = 12

    /// How long others may be in the way, at which the last attempt begins.
    private static let limit = Duration.seconds(5)

    /// The writes whose callers were told nothing yet.
    private struct Left {
        /// Those that need rows that others hold.
        var held: [QueuedWrite] = []
        /// Those that must run alone.
        var alone: [QueuedWrite] = []
    }

    let session: PostgreSQLSession
    /// Set where writes are not kept; that others were kept since says nothing of other tables.
    let isDoubted: Locked<Bool>
    /// Hears what was not kept.
    let failures: RecurringLog

    /// Runs and commits writes, and tells every caller what became of its own.
    ///
    /// - Returns: The writes that need rows that others hold; their callers were told nothing, and nothing is kept.
    func commit(_ writes: [QueuedWrite]) -> [QueuedWrite] {
        var writes = writes
        for index in writes.indices where writes[index].keys.isEmpty {
            let discovery = ResourceDiscovery()
            _ = writes[index].run(GroupedTransaction(discovery))
            writes[index].keys = discovery.keys
        }
        let left = self.commit(writes, isAlone: false)
        var (held, isBlocked) = (left.held, false)
        for write in left.alone {
            // Where one must wait, the others do not hold up this connection besides.
            let own = isBlocked ? [write] : self.commit([write], isAlone: true).held
            isBlocked = isBlocked || !own.isEmpty
            held += own
        }
        return held
    }

    private func commit(_ writes: [QueuedWrite], isAlone: Bool) -> Left {
        var (writes, held) = (writes, [QueuedWrite]())
        var (hasBegun, leavesHeld) = (false, false)
        var failure: any Error = PostgreSQLError(code: .conflict, message: "Others were in the way again and again.")
        let deadline = ContinuousClock.now + Self.limit
        for _ in 0..<Self.attempts {
            hasBegun = false
            do {
                let keys = writes.reduce(into: Set<ResourceKey>()) { $0.formUnion($1.keys) }
                let group = try PostgreSQLGroup(self.session, isAlone: isAlone, locking: keys, leavesHeld: leavesHeld)
                hasBegun = true
                held += writes.filter { !group.held.isDisjoint(with: $0.keys) }
                writes.removeAll { !group.held.isDisjoint(with: $0.keys) }
                var outcomes: [QueuedWrite.Outcome] = []
                var alone: [QueuedWrite] = []
                for index in writes.indices {
                    // What a body comes upon is noted, so that the next attempt locks it in order.
                    if let outcome = try group.run(&writes[index]) {
                        outcomes.append(outcome)
                    } else {
                        alone.append(writes[index])
                    }
                }
                try group.commit()
                for outcome in outcomes { outcome.reply() }
                return Left(held: held, alone: alone)
            } catch {
                self.session.rollBack()
                failure = error
                guard (error as? PostgreSQLError)?.code == .conflict, ContinuousClock.now < deadline else { break }
                // Who must be alone while others are not through is in their way, and leaves them a while.
                if isAlone, !hasBegun { return Left(held: held + writes) }
                // A row that was waited for in vain is another's for longer, and keeps only those who need it.
                leavesHeld = !hasBegun
            }
        }
        guard writes.count > 1, hasBegun, Self.mayBeOfOne(failure) else {
            self.reject(writes, failure)
            return Left(held: held)
        }
        return writes.reduce(into: Left(held: held)) { left, write in
            let own = self.commit([write], isAlone: isAlone)
            left.held += own.held
            left.alone += own.alone
        }
    }

    /// Whether a failure may come from one write, and the others would be kept without it.
    private static func mayBeOfOne(_ failure: any Error) -> Bool {
        guard let error = failure as? PostgreSQLError else { return true }
        return [.conflict, .statementFailed, .wrongSchema].contains(error.code)
    }

    private func reject(_ writes: [QueuedWrite], _ failure: any Error) {
        guard !writes.isEmpty else { return }
        self.isDoubted.withLock { $0 = true }
        self.failures.note("\(failure)", ["writes": "\(writes.count)", "error": "\(failure)"])
        let answer =
            (failure as? PostgreSQLError).map { EngineError($0) }
            ?? .store("STORE_COMMIT_FAILED", "The change could not be stored; retry in a second.")
        for write in writes { write.reject(answer) }
    }
}
