// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetPostgreSQL
import FleetTokens
public import Foundation
public import Logging

/// Keeps resources in PostgreSQL, for any number of engine nodes over one database.
///
/// Writes are committed in groups, as in ``SQLiteStore``; a group costs three round trips, whatever its size. The rows
/// that a group looks at are locked first, in one order for all nodes, so that commands on one resource take place one
/// after the other, wherever they arrive. Bodies may run more than once, and only what the last run put is kept. A write
/// whose rows others hold waits for them on a connection of its own, for 5 seconds, and keeps none of its neighbours.
public final class PostgreSQLStore: EngineStore {
    private let readers: PostgreSQLPool
    /// One connection, as groups are larger and fewer by it.
    private let writer: PostgreSQLPool
    private let queue: GroupWriter
    /// For writes whose rows others hold.
    private let heldWriter: PostgreSQLPool
    private let heldQueue: GroupWriter
    private let patience: Duration
    private let scans: ScanLimit
    /// Whether it is not known that changes are kept: none was yet, or a group was not and no change was since.
    private let isDoubted = Locked(true)
    private let failures: RecurringLog
    private let failedLooks: RecurringLog
    private let heldWrites: RecurringLog

    /// Prepares the use of a database; see ``check()`` for whether it can be used.
    ///
    /// - Parameters:
    ///   - address: `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`.
    ///   - logger: Where failed commits are told in full, every ten seconds at most while they fail alike.
    /// - Throws: ``EngineError`` whose reason starts with `STORE_`, for a malformed address.
    public convenience init(_ address: String, logger: Logger) throws(EngineError) {
        try self.init(address, logger: logger, readers: 4, groupLimit: 512, waitingLimit: 16 * 1024)
    }

    init(
        _ address: String, logger: Logger, readers: Int, groupLimit: Int, waitingLimit: Int,
        limits: PostgreSQLLimits = PostgreSQLLimits(), patience: Duration = .seconds(5)
    ) throws(EngineError) {
        let parsed: PostgreSQLAddress
        do throws(PostgreSQLError) {
            parsed = try PostgreSQLAddress(address)
        } catch {
            throw EngineError(code: .failedPrecondition, reason: "STORE_ADDRESS_INVALID", message: error.message)
        }
        let tables = PostgreSQLTables(PostgreSQLEngineSchema.schema)
        self.readers = PostgreSQLPool(
            parsed, connections: readers, limits: limits, tables: tables, logger: logger)
        self.writer = PostgreSQLPool(
            parsed, connections: 1, limits: limits, tables: tables, logger: logger)
        self.heldWriter = PostgreSQLPool(
            parsed, connections: 1, limits: limits, tables: tables, logger: logger)
        self.queue = GroupWriter(groupLimit: groupLimit, waitingLimit: waitingLimit)
        self.heldQueue = GroupWriter(groupLimit: groupLimit, waitingLimit: waitingLimit)
        self.patience = patience
        self.scans = ScanLimit(max(1, readers / 2), waitingLimit: waitingLimit)
        func log(_ message: Logger.Message) -> RecurringLog {
            RecurringLog(message, level: .error, logger: logger, now: { Date() })
        }
        self.failures = log("A group of writes could not be committed")
        self.failedLooks = log("The store could not be read")
        self.heldWrites = log("A write was given up, as others hold what it changes")
    }

    /// Looks whether the database can be used, and makes or updates its tables.
    ///
    /// - Throws: ``EngineError`` whose reason starts with `STORE_`, and that says what to mend; `UNAVAILABLE` where the
    ///   server does not serve now.
    public func check() async throws(EngineError) {
        do {
            try await self.readers.run { _ = try $0.pipeline(PostgreSQLQuery.looks) }
        } catch let error as PostgreSQLError {
            throw EngineError(
                code: error.isOutage ? .unavailable : .failedPrecondition,
                reason: error.code == .wrongSchema ? "STORE_SCHEMA" : "STORE_UNAVAILABLE", message: error.message)
        } catch {
            throw .store("STORE_UNAVAILABLE", "\(error)")
        }
    }

    /// Ends the group that is being committed, then closes the connections; what waits and later calls fail with
    /// `UNAVAILABLE`.
    public func close() async {
        self.queue.close()
        await self.writer.close()
        self.heldQueue.close()
        await self.heldWriter.close()
        await self.readers.close()
    }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineReader) throws -> Result
    ) async throws -> Result {
        do {
            return try await self.look { try LookupReader.run(body, over: $0) }
        } catch is LookupReader.Scans {
            return try await self.scans.pass { try await self.look(body) }
        }
    }

    /// Runs a body on a snapshot.
    private func look<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineReader) throws -> Result
    ) async throws -> Result {
        try await self.reading { session, isWanted in
            let reader = PostgreSQLReader(session, begin: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            do {
                let result = try body(WantedReader(reader, while: isWanted))
                try reader.end()
                return result
            } catch {
                session.rollBack()
                throw error
            }
        }
    }

    func status() async throws -> StoreStatus? {
        try await self.reading { session, _ in
            let answers = try session.pipeline([PostgreSQLQuery.status] + PostgreSQLQuery.looks)
            guard let row = answers.first?.first else { return nil }
            let status = StoreStatus(
                time: Date(timeIntervalSince1970: Double(try row.integer(0)) / 1000), takesChanges: try row.bool(1))
            // A session keeps the setting that it began with, and its host; a new one shows whether that still holds.
            if !status.takesChanges { session.giveUp() }
            return status
        }
    }

    func probe() async throws {
        guard self.isDoubted.withLock({ $0 }) else { return }
        do {
            try await self.writer.run { session in
                defer { session.rollBack() }
                // Writes wait for this connection meanwhile.
                let begin: [PostgreSQLStatement] = [.once("BEGIN"), PostgreSQLQuery.wait(atMost: .milliseconds(50))]
                _ = try session.pipeline(begin + PostgreSQLQuery.probe + [.once("COMMIT")])
            }
        } catch let error as PostgreSQLError where error.code == .conflict {
            // Somebody holds what was tried, which says nothing of the store.
            return
        }
        self.isDoubted.withLock { $0 = false }
    }

    /// Uses a reader's connection, with what tells whether the task was cancelled since.
    ///
    /// For a task that is cancelled before its turn the body is not run, and it waits no longer. A fault of a statement
    /// is left as it is, as no caller can do anything about it.
    private func reading<Answer: Sendable>(
        _ body: @escaping @Sendable (PostgreSQLSession, _ isWanted: @escaping @Sendable () -> Bool) throws -> Answer
    ) async throws -> Answer {
        let reply = Reply<Answer>()
        let turn = Locked((hasCome: false, isWanted: true))
        self.readers.submit { session in
            let isWanted = turn.withLock { turn in
                turn.hasCome = true
                return turn.isWanted
            }
            guard isWanted else { return }
            reply.give(Result { try body(session.get()) { turn.withLock { $0.isWanted } } })
        }
        do {
            return try await withTaskCancellationHandler {
                try await reply.wait()
            } onCancel: {
                let hasCome = turn.withLock { turn in
                    turn.isWanted = false
                    return turn.hasCome
                }
                // A list that has begun is among those that may scan until it has left the connection.
                if !hasCome { reply.give(.failure(CancellationError())) }
            }
        } catch let error as PostgreSQLError where error.code != .statementFailed {
            // What is wrong with a connection, its pool tells.
            if error.code == .wrongSchema || error.isStatementEnded {
                self.failedLooks.note("\(error)", ["error": "\(error)"])
            }
            throw EngineError(error)
        }
    }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineTransaction) throws -> Result
    ) async throws -> Result {
        // While the server is away, nobody waits for the group that found it so.
        if let refusal = self.writer.refusal { throw EngineError(refusal) }
        return try await self.queue.write(body) { self.startWriter() }
    }

    /// How many writes wait for the next group.
    var waitingWrites: Int { self.queue.waiting }

    private func startWriter() {
        self.writer.submit { session in
            guard let group = self.queue.nextGroup() else { return }
            self.commit(group, session)
            // Each group asks for its session anew, as this one may have broken.
            self.startWriter()
        }
    }

    private func startHeldWriter() {
        self.heldWriter.submit { session in
            guard let group = self.heldQueue.nextGroup() else { return }
            self.commit(group, session)
            self.startHeldWriter()
        }
    }

    private func commit(_ group: [QueuedWrite], _ session: Result<PostgreSQLSession, PostgreSQLError>) {
        do throws(PostgreSQLError) {
            let committer = PostgreSQLCommitter(
                session: try session.get(), isDoubted: self.isDoubted, failures: self.failures)
            self.setAside(committer.commit(group))
        } catch {
            self.isDoubted.withLock { $0 = true }
            for write in group { write.reject(EngineError(error)) }
        }
    }

    /// Has writes wait for rows that others hold, and gives those up that did for too long.
    private func setAside(_ writes: [QueuedWrite]) {
        let now = ContinuousClock.now
        var waiting: [QueuedWrite] = []
        for var write in writes {
            let since = write.heldSince ?? now
            guard since.duration(to: now) <= self.patience else {
                self.heldWrites.note("held", [:])
                write.reject(EngineError.storeContended)
                continue
            }
            write.heldSince = since
            waiting.append(write)
        }
        self.heldQueue.takeOver(waiting) { self.startHeldWriter() }
    }
}

extension PostgreSQLError {
    /// Whether the server is there, and ended a statement for the time it took, or at somebody's request.
    fileprivate var isStatementEnded: Bool { self.sqlState == "57014" }
}

extension EngineError {
    /// A store in which others hold what a write is about.
    static let storeContended = Self.store(
        "STORE_CONTENDED", "Others change the same resources; retry in a second.")

    /// What callers are told of a database that cannot serve; the log has the rest.
    init(_ error: PostgreSQLError) {
        self =
            switch error.code {
            case .overloaded: .store("STORE_OVERLOADED", "Too much waits for the store; retry in a second.")
            case .closed: .storeClosed
            case .conflict: .storeContended
            case .statementFailed: .unexpected
            case .timedOut where error.isStatementEnded:
                .store("STORE_UNAVAILABLE", "The store took too long over this; retry in a while.")
            default: .store("STORE_UNAVAILABLE", "The store cannot be reached now; retry in a second.")
            }
    }
}

extension Engine {
    /// Makes an engine over a PostgreSQL store, which outlives it and is closed after it.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - verifier: What decides whether a token is good.
    ///   - activity: What remembers the callers.
    ///   - router: What knows the roads; `nil` estimates ways by the straight line.
    ///   - recorder: What keeps every call; `nil` for none.
    ///   - watch: What notes departures from the documentation, and how strict the engine is.
    ///   - faults: What lets things go wrong by script; `nil` for nothing.
    ///   - metrics: What counts the calls; `nil` for none.
    ///   - logger: Where failures of the engine's own are told.
    ///   - now: The clock that tokens are judged and changes are dated by.
    public init(
        store: PostgreSQLStore, verifier: any TokenVerifying, activity: EngineActivity = EngineActivity(),
        router: (any RoadRouter)? = nil, recorder: CallRecorder? = nil, watch: DeviationWatch = DeviationWatch(),
        faults: FaultInjector? = nil, metrics: EngineMetrics? = nil, logger: Logger,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(
            store: store as any EngineStore, verifier: verifier, activity: activity, router: router,
            recorder: recorder, watch: watch, faults: faults, metrics: metrics, logger: logger, now: now)
    }
}
