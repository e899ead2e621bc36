// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetPostgreSQL
import Logging

/// Commits groups of writes, again where another node was in the way, and bodies alone that must be.
struct PostgreSQLCommitter {
    private static let attempts = 12

    let session: PostgreSQLSession
    let logger: Logger

    /// Runs and commits writes, and tells every caller what became of its own.
    func commit(_ writes: [QueuedWrite]) {
        let discovery = ResourceDiscovery()
        for write in writes { _ = write.run(GroupedTransaction(discovery)) }
        for write in self.commit(writes, isAlone: false, discovery.keys) {
            _ = self.commit([write], isAlone: true, [])
        }
    }

    /// - Returns: The writes that must run alone, whose callers were told nothing.
    private func commit(_ writes: [QueuedWrite], isAlone: Bool, _ first: Set<ResourceKey>) -> [QueuedWrite] {
        var keys = first
        var failure: any Error = PostgreSQLError(code: .conflict, message: "Others were in the way again and again.")
        for _ in 0..<Self.attempts {
            do {
                let group = try PostgreSQLGroup(self.session, isAlone: isAlone, locking: keys)
                do {
                    var outcomes: [QueuedWrite.Outcome] = []
                    var left: [QueuedWrite] = []
                    for write in writes {
                        if let outcome = try group.run(write) { outcomes.append(outcome) } else { left.append(write) }
                    }
                    try group.commit()
                    for outcome in outcomes { outcome.reply() }
                    return left
                } catch {
                    // The next attempt locks in order what this one came upon.
                    keys.formUnion(group.keys)
                    throw error
                }
            } catch let error as PostgreSQLError where error.code == .conflict {
                self.session.rollBack()
                failure = error
            } catch {
                self.session.rollBack()
                failure = error
                break
            }
        }
        self.logger.error(
            "A group of writes could not be committed", metadata: ["writes": "\(writes.count)", "error": "\(failure)"])
        let answer =
            (failure as? PostgreSQLError).map { EngineError($0) }
            ?? .store("STORE_COMMIT_FAILED", "The change could not be stored; retry in a second.")
        for write in writes { write.reject(answer) }
        return []
    }
}
