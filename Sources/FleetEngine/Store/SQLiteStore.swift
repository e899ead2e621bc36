// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FleetOperation
import FleetSQLite
import FleetTokens
import Foundation
import GRDB
public import Logging

/// Keeps vehicles and trips in one SQLite file, which one process uses at a time.
///
/// Writes are committed in groups: while one group reaches the disk, those that arrive wait for the next, so that
/// one sync of the disk serves them all. A body that throws leaves nothing; a group is kept whole or not at all.
public final class SQLiteStore: EngineStore {
    private let database: DurableDatabase
    private let lock: FileLock
    private let recent = RecentResources(limit: 16 * 1024, byteLimit: 16 << 20)
    private let rows = SQLiteRows()
    private let reads: GroupReader<SQLiteReader>
    /// For what looks through many resources, with half of the connections at most.
    private let scans: GroupReader<SQLiteReader>
    private let queue: GroupWriter
    /// Whether a group was not kept, and no change was since.
    private let isDoubted = Locked(false)
    /// Whether a look at the tables failed, and no look of ``status()`` succeeded since.
    private let isUnread = Locked(false)
    private let logLimit: Int64
    /// Beyond how many bytes of the `-wal` it is begun anew, and how many writes came since somebody looked at it.
    private let log: Locked<(due: Int64, unseen: Int)>
    private let failures: RecurringLog
    private let readFailures: RecurringLog
    /// Serial, and the only place that waits for the disk: no thread of the concurrency runtime ever does.
    private let writer = DispatchQueue(label: "fleetpass.store.group-commit")

    /// Opens or creates a store.
    ///
    /// - Parameters:
    ///   - path: The SQLite file; its folder must exist.
    ///   - logger: Where failed commits and reads are told in full, every ten seconds at most while they fail alike.
    /// - Throws: ``EngineError`` whose reason starts with `STORE_`; `UNAVAILABLE` where it may pass, as while the disk is
    ///   full.
    public convenience init(path: String, logger: Logger) throws(EngineError) {
        try self.init(path: path, logger: logger, groupLimit: 512, waitingLimit: 16 * 1024)
    }

    init(
        path: String, logger: Logger, groupLimit: Int, waitingLimit: Int, logLimit: Int64 = DurableDatabase.logLimit,
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws(EngineError) {
        self.lock = try StoreFileLock.take(path)
        let database = try SQLiteSchema.open(path, logLimit: logLimit)
        self.logLimit = logLimit
        self.log = Locked((due: logLimit, unseen: 0))
        self.database = database
        let withSnapshot: @Sendable (_ body: (SQLiteReader) -> Void) throws -> Void = { [recent] body in
            let version = recent.version
            try database.pool.read { body(SQLiteReader(database: $0, recent: (recent, version))) }
        }
        self.reads = GroupReader(
            runnerLimit: SQLiteSchema.readers, groupLimit: 16, waitingLimit: waitingLimit, withSnapshot: withSnapshot)
        self.scans = GroupReader(
            runnerLimit: SQLiteSchema.readers / 2, groupLimit: 1, waitingLimit: waitingLimit, withSnapshot: withSnapshot
        )
        self.failures = RecurringLog(
            "A group of writes could not be committed", level: .error, logger: logger, now: now)
        self.readFailures = RecurringLog("The store could not be read", level: .error, logger: logger, now: now)
        self.queue = GroupWriter(groupLimit: groupLimit, waitingLimit: waitingLimit)
    }

    /// Commits what waits, then closes the file; later calls fail with `UNAVAILABLE`.
    ///
    /// - Throws: An error of SQLite, when the file cannot be closed.
    public func close() async throws {
        self.queue.close()
        self.reads.close()
        self.scans.close()
        // The writer is serial. What was admitted before may not have started it yet.
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            self.writer.async {
                self.drain()
                self.recent.close()
                let outcome = Result { try self.database.close() }
                // Whoever closed the store may open its file at once.
                self.lock.release()
                continuation.resume(with: outcome)
            }
        }
    }

    /// How many vehicles a search looks at before it goes on where lists do.
    static let nearbyLimit = 512

    var repeatsMessages: Bool { true }

    var pool: DatabasePool { self.database.pool }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineReader) throws -> Result
    ) async throws -> Result {
        // Most looks are at what was looked at before; then there is no change of threads.
        let known = RecentReader(self.recent)
        let result = Swift.Result { try body(known) }
        if known.isEnough { return try result.get() }
        do {
            return try await self.look(body, scans: known.scans)
        } catch let error as DatabaseError {
            throw self.failure(reading: error)
        }
    }

    /// Runs a body that only looks over the tables.
    private func look<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineReader) throws -> Result, scans: Bool
    ) async throws -> Result {
        if !scans {
            do {
                return try await self.reads.read { reader in
                    try LookupReader.run(body, over: reader, nearbyLimit: Self.nearbyLimit)
                }
            } catch is LookupReader.Scans {}
        }
        return try await self.scans.readWhileWanted { try body(WantedReader($0, while: $1)) }
    }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineTransaction) throws -> Result
    ) async throws -> Result {
        try await self.queue.write(body) { self.writer.async { self.drain() } }
    }

    /// What is told of a look at the tables that failed; what SQLite says, where the fault is the engine's own.
    private func failure(reading error: DatabaseError) -> any Error {
        guard let failure = EngineError(reading: error, of: self.database.files.path) else { return error }
        self.isUnread.withLock { $0 = true }
        self.readFailures.note(error.reason, ["error": "\(error)"])
        return failure
    }

    func status() async throws -> StoreStatus? {
        let isUnread = self.isUnread.withLock { $0 }
        try await self.naming { try await self.reads.read { if isUnread { try $0.lookAnew() } } }
        if isUnread { self.isUnread.withLock { $0 = false } }
        return nil
    }

    func probe() async throws {
        // Not by a connection: groups that follow each other without a rest would keep it waiting.
        try await self.database.look()
        guard self.isDoubted.withLock({ $0 }) else { return }
        try await self.naming {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                self.writer.async { continuation.resume(with: Result { try self.tryChange() }) }
            }
        }
        self.isDoubted.withLock { $0 = false }
    }

    /// Does something, and names the trouble that SQLite tells of.
    private func naming(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as DatabaseError {
            throw SQLiteTrouble(error, of: self.database.files.path)
        }
    }

    /// Keeps a change that leaves nothing, and needs room for some resources; none has its key.
    private func tryChange() throws {
        let texts = SQLiteQuery.texts(.trips)
        let values: StatementArguments = [false, nil, nil, nil, nil, nil, nil, 0, Data(count: 64 * 1024), "", ""]
        try self.pool.writeWithoutTransaction { database in
            try self.database.checkPlace(of: database)
            try database.inTransaction(.immediate) {
                try database.execute(sql: texts.insert, arguments: values)
                try database.execute(sql: texts.remove, arguments: [database.lastInsertedRowID])
                return .commit
            }
        }
    }

    /// How many writes wait for the next group.
    var waitingWrites: Int { self.queue.waiting }

    private func drain() {
        while let group = self.queue.nextGroup() {
            self.commit(group)
            self.shortenLog(after: group.count)
        }
    }

    /// Begins the `-wal` anew where it has grown long, once the lists that look at it have ended; the next group waits
    /// for that, for 5 seconds at most.
    ///
    /// SQLite itself waits for no list, so the file would grow for as long as there is always some list under way.
    private func shortenLog(after writes: Int) {
        let isSeen = self.log.withLock { log in
            log.unseen += writes
            guard log.unseen >= Self.writesBetweenLooks else { return true }
            log.unseen = 0
            return false
        }
        guard !isSeen else { return }
        let bytes = self.database.files.logBytes
        let due = self.log.withLock { log in
            if bytes <= self.logLimit { log.due = self.logLimit }
            return log.due
        }
        guard bytes > due else { return }
        let isBegunAnew = (try? self.pool.writeWithoutTransaction(SQLiteSchema.beginLogAnew)) ?? false
        // Where lists take longer than that, writes wait again when as much has come once more.
        self.log.withLock { $0.due = isBegunAnew ? self.logLimit : bytes + self.logLimit }
    }

    /// How many writes go by before the length of the `-wal` is looked at again, which takes as long as a write.
    private static let writesBetweenLooks = 64

    private func commit(_ group: [QueuedWrite]) {
        var outcomes: [QueuedWrite.Outcome] = []
        do {
            try self.pool.writeWithoutTransaction { database in
                try self.database.checkPlace(of: database)
                try database.inTransaction(.immediate) {
                    let transaction = SQLiteGroup(
                        database, recent: self.recent, rows: self.rows, expecting: group.count)
                    for write in group { outcomes.append(try transaction.run(write)) }
                    try transaction.flush()
                    self.recent.begin(transaction.sent)
                    return .commit
                }
            }
            self.recent.end(isDurable: true)
        } catch {
            self.recent.end(isDurable: false)
            self.rows.forget()
            self.isDoubted.withLock { $0 = true }
            self.failures.note("\(error)", ["writes": "\(group.count)", "error": "\(error)"])
            let failure = EngineError(committing: error, to: self.database.files.path)
            for write in group { write.reject(failure) }
            return
        }
        for outcome in outcomes { outcome.reply() }
    }
}

extension EngineError {
    /// What to do about a store whose file is not where it was opened.
    static let replacedAdvice = "put that very file back, or restart the engine"

    /// What callers are told of a group that was not committed; the log has the rest.
    init(committing error: any Error, to path: String) {
        if let moved = error as? DurableDatabase.FileMoved {
            self = .store(
                "STORE_REPLACED",
                "The change was not stored, as the store's file \(moved.event); \(Self.replacedAdvice).")
            return
        }
        let cause = (error as? DatabaseError).flatMap { Self.cause(SQLiteTrouble($0, of: path)) }
        self =
            if let cause {
                .store(cause.reason, "The change was not stored, as \(cause.words)")
            } else {
                .store("STORE_COMMIT_FAILED", "The change could not be stored; retry in a second.")
            }
    }

    /// What callers are told of a look at the store that failed; `nil` where the fault is the engine's own.
    init?(reading error: DatabaseError, of path: String) {
        let trouble = SQLiteTrouble(error, of: path)
        if trouble == .busy {
            self = .store("STORE_UNAVAILABLE", "Another process keeps the store busy; retry in a second.")
            return
        }
        guard let cause = Self.cause(trouble) else { return nil }
        self = .store(cause.reason, "The store cannot be read, as \(cause.words)")
    }

    /// What is the matter with the store's disk or what is on it, and what to do; `nil` where it is something else.
    private static func cause(_ trouble: SQLiteTrouble) -> (reason: String, words: String)? {
        switch trouble {
        case .full: ("STORE_FULL", "the store's disk is full; retry when it has room.")
        case .failingDisk, .readOnly, .notOpened, .damaged:
            ("STORE_DISK_FAILED", "the store's disk failed; retry in a while.")
        case .busy, .other: nil
        }
    }
}
