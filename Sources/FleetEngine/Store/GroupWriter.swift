// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Takes writes in, and hands them in groups to a writer that is started when there is something to do.
///
/// A caller whose task is cancelled takes its write back if no group has taken it yet, and otherwise learns what came
/// of it.
final class GroupWriter: Sendable {
    private let queue: Locked<WriteQueue>

    init(groupLimit: Int, waitingLimit: Int) {
        self.queue = Locked(WriteQueue(groupLimit: groupLimit, waitingLimit: waitingLimit))
    }

    /// How many writes wait for the next group.
    var waiting: Int { self.queue.withLock { $0.count } }

    /// Has a body run and committed with its neighbours.
    ///
    /// A commit takes as long as many writes do. So who finds the writer resting lets others that are about to write go
    /// first, and then starts it.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - start: Starts the writer, which rests; it takes groups until there is none.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws, ``EngineError`` with `UNAVAILABLE`, or `CancellationError`.
    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineTransaction) throws -> Result, start: @escaping @Sendable () -> Void
    ) async throws -> Result {
        let ticket = self.queue.withLock { $0.makeTicket() }
        let reply = Reply<Result>()
        let write = QueuedWrite(
            ticket: ticket,
            run: { transaction in
                do {
                    let result = try body(transaction)
                    return QueuedWrite.Outcome(failure: nil) { reply.give(.success(result)) }
                } catch {
                    return QueuedWrite.Outcome(failure: error) { reply.give(.failure(error)) }
                }
            },
            reject: { reply.give(.failure($0)) })
        return try await withTaskCancellationHandler {
            let startsWriter = try self.enqueue(write)
            // A task that was cancelled before its write had joined is not told again.
            if Task.isCancelled { self.withdraw(ticket) }
            if startsWriter {
                await Task.yield()
                start()
            }
            return try await reply.wait()
        } onCancel: {
            self.withdraw(ticket)
        }
    }

    /// Has writes wait that another writer took before and could not commit.
    ///
    /// - Parameters:
    ///   - writes: The writes; those that find too many waiting, or the store closed, are rejected.
    ///   - start: Starts the writer, which rests.
    func takeOver(_ writes: [QueuedWrite], start: () -> Void) {
        var startsWriter = false
        for write in writes {
            do throws(EngineError) {
                if try self.enqueue(write) { startsWriter = true }
            } catch {
                write.reject(error)
            }
        }
        if startsWriter { start() }
    }

    /// The writes to commit next; `nil` sends the writer to rest.
    func nextGroup() -> [QueuedWrite]? { self.queue.withLock { $0.nextGroup() } }

    /// Refuses later writes.
    func close() { self.queue.withLock { $0.close() } }

    /// Has a write wait; says whether the writer is to be started for it.
    private func enqueue(_ write: QueuedWrite) throws(EngineError) -> Bool {
        switch self.queue.withLock({ $0.admit(write) }) {
        case .waits: return false
        case .startsWriter: return true
        case .full: throw EngineError.store("STORE_OVERLOADED", "Too many writes wait; retry in a second.")
        case .closed: throw EngineError.storeClosed
        }
    }

    private func withdraw(_ ticket: UInt64) {
        self.queue.withLock { $0.withdraw(ticket) }?.reject(CancellationError())
    }
}

extension EngineError {
    /// A store that no longer serves.
    static let storeClosed = Self.store("STORE_CLOSED", "The store is closed; retry on another node.")

    /// A store that cannot serve now.
    static func store(_ reason: String, _ message: String) -> Self {
        Self(code: .unavailable, reason: reason, message: message)
    }
}
