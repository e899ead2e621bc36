// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FleetTokens
import GRDB
public import Logging

/// Keeps vehicles and trips in one SQLite file.
///
/// Writes are committed in groups: while one group reaches the disk, those that arrive wait for the next, so that
/// one sync of the disk serves them all. Each body runs in a savepoint of its own; one that throws undoes only itself.
public final class SQLiteStore: EngineStore {
    private let pool: DatabasePool
    private let queue: GroupWriter
    private let logger: Logger
    /// Serial, and the only place that waits for the disk: no thread of the concurrency runtime ever does.
    private let writer = DispatchQueue(label: "fleetpass.store.group-commit")

    /// Opens or creates a store.
    ///
    /// - Parameters:
    ///   - path: The SQLite file; its folder must exist.
    ///   - logger: Where a failed commit is told in full.
    /// - Throws: ``EngineError`` whose reason starts with `STORE_`.
    public convenience init(path: String, logger: Logger) throws(EngineError) {
        try self.init(path: path, logger: logger, groupLimit: 512, waitingLimit: 16 * 1024)
    }

    init(path: String, logger: Logger, groupLimit: Int, waitingLimit: Int) throws(EngineError) {
        self.pool = try SQLiteSchema.open(path)
        self.logger = logger
        self.queue = GroupWriter(groupLimit: groupLimit, waitingLimit: waitingLimit)
    }

    /// Commits what waits, then closes the file; later calls fail with `UNAVAILABLE`.
    ///
    /// - Throws: An error of SQLite, when the file cannot be closed.
    public func close() async throws {
        self.queue.close()
        // The writer is serial: what was admitted before runs before this.
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            self.writer.async { continuation.resume(with: Result { try self.pool.close() }) }
        }
    }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineReader) throws -> Result
    ) async throws -> Result {
        try await self.pool.read { try body(SQLiteReader(database: $0)) }
    }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineTransaction) throws -> Result
    ) async throws -> Result {
        try await self.queue.write(body) { self.writer.async { self.drain() } }
    }

    /// How many writes wait for the next group.
    var waitingWrites: Int { self.queue.waiting }

    private func drain() {
        while let group = self.queue.nextGroup() { self.commit(group) }
    }

    private func commit(_ group: [QueuedWrite]) {
        var outcomes: [QueuedWrite.Outcome] = []
        do {
            try self.pool.writeWithoutTransaction { database in
                try database.inTransaction(.immediate) {
                    for write in group {
                        // A full disk ends the whole transaction from below; the rest must not start one of its own.
                        guard database.isInsideTransaction else { throw DatabaseError(resultCode: .SQLITE_ABORT) }
                        try database.inSavepoint {
                            let outcome = write.run(SQLiteTransaction(database: database))
                            outcomes.append(outcome)
                            return outcome.isKept ? .commit : .rollback
                        }
                    }
                    return .commit
                }
            }
        } catch {
            self.logger.error(
                "A group of writes could not be committed",
                metadata: ["writes": "\(group.count)", "error": "\(error)"]
            )
            let failure = EngineError.store("STORE_COMMIT_FAILED", "The change could not be stored; retry in a second.")
            for write in group { write.reject(failure) }
            return
        }
        for outcome in outcomes { outcome.reply() }
    }
}
