// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning
import FleetTokens
public import Foundation
public import Logging

/// Keeps the audit in the token server's store, in groups: one sync of the disk, which takes as much of the processor as
/// many records do, serves all the records that are there when it begins.
///
/// Whoever comes while nobody writes leads: it lets others that are about to bring a record go first, writes for all of
/// them, and hands over to one of those that came meanwhile.
///
/// The end of the chain is kept beside the records, in the same transaction, so that records cut off its end are missed.
/// Who can write the store can rewrite both; note ``head()`` elsewhere and verify against it.
public final class StoredAuditLog: AuditLog {
    private enum Turn {
        case isKept
        case leads
    }

    private struct Waiting: Sendable {
        let record: AuditRecord
        let arrival: Duration
        let resume: @Sendable (Result<Turn, any Error>) -> Void
    }

    private struct Queue {
        var waiting: [Waiting] = []
        var hasLeader = false
    }

    private static let groupLimit = 512

    private let store: TokenServerStore
    private let failures: RecurringLog
    private let waitingLimit: Int
    private let patience: Duration
    private let time: TimeSource
    private let queue = Locked(Queue())

    /// Keeps the audit in a store.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - logger: Hears of commits that failed.
    ///   - waitingLimit: How many records may wait for the disk; more are refused.
    ///   - now: The clock by which failures that recur are logged now and then.
    public convenience init(
        store: TokenServerStore, logger: Logger, waitingLimit: Int = 16 * 1024,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(
            store: store, logger: logger, waitingLimit: waitingLimit, patience: .patience,
            time: TimeSource(clock: ContinuousClock(), now: now))
    }

    /// Keeps the audit in a store.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - logger: Hears of commits that failed.
    ///   - waitingLimit: How many records may wait for the disk; more are refused.
    ///   - patience: How long a record waits for others that are in its way.
    ///   - time: The clock by which records wait, and the date by which failures that recur are logged now and then.
    init(
        store: TokenServerStore, logger: Logger, waitingLimit: Int = 16 * 1024, patience: Duration,
        time: TimeSource = TimeSource(clock: ContinuousClock())
    ) {
        self.store = store
        self.failures = RecurringLog("Audit records could not be kept", level: .error, logger: logger) { time.date }
        self.waitingLimit = waitingLimit
        self.patience = patience
        self.time = time
    }

    /// How many records wait for the next group.
    var waitingRecords: Int { self.queue.withLock { $0.waiting.count } }

    /// Keeps a record, and returns when it is on the disk.
    public func append(_ record: AuditRecord) async throws {
        let arrival = self.time.uptime
        let turn = try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Turn, any Error>) in
            self.enqueue(Waiting(record: record, arrival: arrival) { continuation.resume(with: $0) })
        }
        guard turn == .leads else { return }
        await Task.yield()
        let others = self.nextGroup()
        // A caller that goes away takes no record back, its own or another's: the decisions were made.
        // Whoever leads came first, so that none of them waits for longer than it may.
        let outcome = await Task {
            await self.keep([record] + others.map(\.record), within: arrival + self.patience - self.time.uptime)
        }.value
        self.handOver(after: outcome)
        for waiting in others { waiting.resume(outcome.map { .isKept }) }
        try outcome.get()
    }

    private func enqueue(_ waiting: Waiting) {
        let answer = self.queue.withLock { queue -> Result<Turn, any Error>? in
            guard queue.hasLeader else {
                queue.hasLeader = true
                return .success(.leads)
            }
            guard queue.waiting.count < self.waitingLimit else {
                return .failure(Self.failure("too many records wait for the store"))
            }
            queue.waiting.append(waiting)
            return nil
        }
        if let answer { waiting.resume(answer) }
    }

    private func nextGroup() -> [Waiting] {
        self.queue.withLock { queue in
            let group = Array(queue.waiting.prefix(Self.groupLimit - 1))
            queue.waiting.removeFirst(group.count)
            return group
        }
    }

    /// Has one of those that wait lead; those that have waited for too long fail as the group did.
    private func handOver(after outcome: Result<Void, any Error>) {
        let now = self.time.uptime
        let (overdue, next) = self.queue.withLock { queue -> ([Waiting], Waiting?) in
            var overdue: [Waiting] = []
            if case .failure = outcome {
                overdue += queue.waiting.prefix { $0.arrival + self.patience <= now }
                queue.waiting.removeFirst(overdue.count)
            }
            guard !queue.waiting.isEmpty else {
                queue.hasLeader = false
                return (overdue, nil)
            }
            return (overdue, queue.waiting.removeFirst())
        }
        next?.resume(.success(.leads))
        for waiting in overdue { waiting.resume(outcome.map { .isKept }) }
    }

    private func keep(_ records: [AuditRecord], within limit: Duration) async -> Result<Void, any Error> {
        do {
            try await self.commit(records, until: .now + limit)
            self.store.note(isKept: true)
            return .success(())
        } catch {
            self.store.note(isKept: false)
            self.failures.note("\(error)", ["records": "\(records.count)", "error": "\(error)"])
            return .failure(Self.failure("the store refused it"))
        }
    }

    private func commit(_ records: [AuditRecord], until deadline: ContinuousClock.Instant) async throws {
        try await self.store.database.write(until: deadline) { database in
            // Read each time: another process may have added to the chain.
            var head = try database.lockHead()
            var entries: [AuditEntry] = []
            for record in records {
                let entry = AuditEntry(.decision(record), after: head)
                entries.append(entry)
                head = AuditHead(entry)
            }
            try database.append(entries, head: head)
        }
    }

    private static func failure(_ reason: String) -> TokenServerError {
        TokenServerError(code: .storeUnavailable, message: "The audit record was not kept: \(reason).")
    }
}
