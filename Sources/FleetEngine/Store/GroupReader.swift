// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FleetTokens

/// Runs reads on a few threads of its own, those that wait together on one snapshot.
///
/// A read costs less than to begin and end a transaction and to change threads for it. The threads are no part of the pool
/// that tasks run on: a read that takes long would keep one of it, and there are no more than processors.
final class GroupReader<Snapshot>: Sendable {
    private struct Read: Sendable {
        let ticket: UInt64
        let run: @Sendable (Result<Snapshot, any Error>) -> Void
    }

    private struct State: Sendable {
        var lastTicket: UInt64 = 0
        var waiting: [Read] = []
        var idleThreads: [DispatchQueue]
        var isClosed = false
    }

    private let state: Locked<State>
    private let groupLimit: Int
    private let waitingLimit: Int
    private let withSnapshot: @Sendable (_ body: (Snapshot) -> Void) throws -> Void

    /// Makes a reader.
    ///
    /// - Parameters:
    ///   - runnerLimit: How many threads read at once.
    ///   - groupLimit: How many reads share a snapshot, so that a long one keeps few waiting.
    ///   - waitingLimit: How many reads may wait; more are refused.
    ///   - withSnapshot: Gives a snapshot to a body, or throws without running it.
    init(
        runnerLimit: Int, groupLimit: Int, waitingLimit: Int,
        withSnapshot: @escaping @Sendable (_ body: (Snapshot) -> Void) throws -> Void
    ) {
        // Only serial queues have threads beyond those that there are for processors.
        let threads = (1...runnerLimit).map { DispatchQueue(label: "fleetpass.store.reads-\($0)") }
        self.state = Locked(State(idleThreads: threads))
        self.groupLimit = groupLimit
        self.waitingLimit = waitingLimit
        self.withSnapshot = withSnapshot
    }

    /// Runs a body that looks.
    ///
    /// For a task that is cancelled the body is not run, if it does not run yet, and waits no longer.
    ///
    /// - Returns: What the body returns.
    /// - Throws: What the body throws, why there is no snapshot, ``EngineError`` with `UNAVAILABLE`, or
    ///   `CancellationError`.
    func read<Answer: Sendable>(_ body: @escaping @Sendable (Snapshot) throws -> Answer) async throws -> Answer {
        try await self.readWhileWanted { snapshot, _ in try body(snapshot) }
    }

    /// Runs a body that looks as ``read(_:)`` does, and that can ask whether its task still waits.
    func readWhileWanted<Answer: Sendable>(
        _ body: @escaping @Sendable (Snapshot, _ isWanted: @escaping @Sendable () -> Bool) throws -> Answer
    ) async throws -> Answer {
        let reply = Reply<Answer>()
        let ticket = try self.enqueue { snapshot in
            guard !reply.isGiven else { return }
            reply.give(Result { try body(snapshot.get()) { !reply.isGiven } })
        }
        return try await withTaskCancellationHandler {
            try await reply.wait()
        } onCancel: {
            self.withdraw(ticket)
            reply.give(.failure(CancellationError()))
        }
    }

    /// How many reads wait for a thread.
    var waitingCount: Int { self.state.withLock { $0.waiting.count } }

    /// Refuses later reads.
    func close() { self.state.withLock { $0.isClosed = true } }

    /// Has a read wait; gives what withdraws it.
    private func enqueue(
        _ read: @escaping @Sendable (Result<Snapshot, any Error>) -> Void
    ) throws(EngineError) -> UInt64 {
        let admission = self.state.withLock { state -> Result<(ticket: UInt64, idle: DispatchQueue?), EngineError> in
            guard !state.isClosed else { return .failure(.storeClosed) }
            guard state.waiting.count < self.waitingLimit else {
                return .failure(.store("STORE_OVERLOADED", "Too many reads wait; retry in a second."))
            }
            state.lastTicket += 1
            state.waiting.append(Read(ticket: state.lastTicket, run: read))
            return .success((state.lastTicket, state.idleThreads.popLast()))
        }
        let (ticket, idle) = try admission.get()
        if let idle { idle.async { self.run(on: idle) } }
        return ticket
    }

    private func withdraw(_ ticket: UInt64) {
        self.state.withLock { state in
            guard let place = state.waiting.firstIndex(where: { $0.ticket == ticket }) else { return }
            state.waiting.remove(at: place)
        }
    }

    /// Reads for as long as something waits.
    private func run(on thread: DispatchQueue) {
        while let group = self.nextGroup(for: thread) {
            var isRun = false
            do {
                try self.withSnapshot { snapshot in
                    isRun = true
                    for read in group { read.run(.success(snapshot)) }
                }
            } catch {
                // The end of a transaction that only looked can fail no read.
                if !isRun { for read in group { read.run(.failure(error)) } }
            }
        }
    }

    private func nextGroup(for thread: DispatchQueue) -> [Read]? {
        self.state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.idleThreads.append(thread)
                return nil
            }
            let group = Array(state.waiting.prefix(self.groupLimit))
            state.waiting.removeFirst(group.count)
            return group
        }
    }
}
