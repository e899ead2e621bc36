// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
public import Logging

/// Keeps the audit in the token server's store, in groups: records that arrive while one group reaches the disk wait for
/// the next, so that one sync of the disk serves them all.
///
/// The end of the chain is kept beside the records, in the same transaction, so that records cut off its end are missed.
/// Who can write the store can rewrite both; note ``head()`` elsewhere and verify against it.
public final class StoredAuditLog: AuditLog {
    private struct Waiting: Sendable {
        let record: AuditRecord
        let resume: @Sendable (Result<Void, any Error>) -> Void
    }

    private struct Queue {
        var waiting: [Waiting] = []
        var isWriterRunning = false
    }

    private static let groupLimit = 512
    /// How long it is from one group to the next when many records come at once.
    ///
    /// A sync of the disk takes as much of the processor as many records do. A record that comes alone does not wait,
    /// and on a slow disk enough records gather while the last group is written.
    private static let gathering: Duration = .milliseconds(4)

    private let store: TokenServerStore
    private let logger: Logger
    private let waitingLimit: Int
    private let queue = Locked(Queue())

    /// Keeps the audit in a store.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - logger: Hears of commits that failed.
    ///   - waitingLimit: How many records may wait for the disk; more are refused.
    public init(store: TokenServerStore, logger: Logger, waitingLimit: Int = 16 * 1024) {
        self.store = store
        self.logger = logger
        self.waitingLimit = waitingLimit
    }

    /// Keeps a record, and returns when it is on the disk.
    public func append(_ record: AuditRecord) async throws {
        // A caller that goes away does not take its record back: the decision was made.
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            self.enqueue(Waiting(record: record) { continuation.resume(with: $0) })
        }
    }

    private func enqueue(_ waiting: Waiting) {
        let (isTaken, startsWriter) = self.queue.withLock { queue in
            guard queue.waiting.count < self.waitingLimit else { return (false, false) }
            queue.waiting.append(waiting)
            defer { queue.isWriterRunning = true }
            return (true, !queue.isWriterRunning)
        }
        if !isTaken { waiting.resume(.failure(Self.failure("too many records wait for the store"))) }
        if startsWriter { Task { await self.drain() } }
    }

    private func drain() async {
        while let group = self.nextGroup() {
            let next = ContinuousClock.now + Self.gathering
            await self.keep(group)
            guard group.count > 1, group.count < Self.groupLimit else { continue }
            // Nobody takes this back: what waits is to be kept.
            try? await Task.sleep(until: next, tolerance: .zero)
        }
    }

    private func keep(_ group: [Waiting]) async {
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await self.commit(group.map(\.record)))
        } catch {
            self.logger.error(
                "Audit records could not be kept", metadata: ["records": "\(group.count)", "error": "\(error)"])
            outcome = .failure(Self.failure("the store refused it"))
        }
        for waiting in group { waiting.resume(outcome) }
    }

    private func nextGroup() -> [Waiting]? {
        self.queue.withLock { queue in
            guard !queue.waiting.isEmpty else {
                queue.isWriterRunning = false
                return nil
            }
            let group = Array(queue.waiting.prefix(Self.groupLimit))
            queue.waiting.removeFirst(group.count)
            return group
        }
    }

    private func commit(_ records: [AuditRecord]) async throws {
        try await self.store.database.write { database in
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
