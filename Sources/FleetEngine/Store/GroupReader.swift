// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FleetTokens

/// Runs reads on a few threads of its own, those that wait together on one snapshot.
///
/// A read costs less than to begin and end a transaction and to change threads for it.
final class GroupReader<Snapshot>: Sendable {
    private typealias Read = @Sendable (Result<Snapshot, any Error>) -> Void

    private struct State: Sendable {
        var waiting: [Read] = []
        var runners = 0
        var isClosed = false
    }

    private let state = Locked(State())
    private let runnerLimit: Int
    private let groupLimit: Int
    private let threads = DispatchQueue(label: "fleetpass.store.reads", attributes: .concurrent)
    private let withSnapshot: @Sendable (_ body: (Snapshot) -> Void) throws -> Void

    /// Makes a reader.
    ///
    /// - Parameters:
    ///   - runnerLimit: How many threads read at once.
    ///   - groupLimit: How many reads share a snapshot, so that a long one keeps few waiting.
    ///   - withSnapshot: Gives a snapshot to a body, or throws without running it.
    init(
        runnerLimit: Int, groupLimit: Int,
        withSnapshot: @escaping @Sendable (_ body: (Snapshot) -> Void) throws -> Void
    ) {
        self.runnerLimit = runnerLimit
        self.groupLimit = groupLimit
        self.withSnapshot = withSnapshot
    }

    /// Runs a body that looks.
    ///
    /// For a task that is cancelled the body is not run, if it does not run yet.
    ///
    /// - Returns: What the body returns.
    /// - Throws: What the body throws, why there is no snapshot, ``EngineError`` with `UNAVAILABLE`, or
    ///   `CancellationError`.
    func read<Answer: Sendable>(_ body: @escaping @Sendable (Snapshot) throws -> Answer) async throws -> Answer {
        let reply = Reply<Answer>()
        let isAdmitted = self.enqueue { snapshot in
            guard !reply.isGiven else { return }
            reply.give(Result { try body(snapshot.get()) })
        }
        guard isAdmitted else { throw EngineError.storeClosed }
        return try await withTaskCancellationHandler {
            try await reply.wait()
        } onCancel: {
            reply.give(.failure(CancellationError()))
        }
    }

    /// Refuses later reads.
    func close() { self.state.withLock { $0.isClosed = true } }

    private func enqueue(_ read: @escaping Read) -> Bool {
        let (isAdmitted, startsRunner) = self.state.withLock { state in
            guard !state.isClosed else { return (false, false) }
            state.waiting.append(read)
            guard state.runners < self.runnerLimit else { return (true, false) }
            state.runners += 1
            return (true, true)
        }
        if startsRunner { self.threads.async { self.run() } }
        return isAdmitted
    }

    private func run() {
        while let group = self.nextGroup() {
            var isRun = false
            do {
                try self.withSnapshot { snapshot in
                    isRun = true
                    for read in group { read(.success(snapshot)) }
                }
            } catch {
                // The end of a transaction that only looked can fail no read.
                if !isRun { for read in group { read(.failure(error)) } }
            }
        }
    }

    private func nextGroup() -> [Read]? {
        self.state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.runners -= 1
                return nil
            }
            let group = Array(state.waiting.prefix(self.groupLimit))
            state.waiting.removeFirst(group.count)
            return group
        }
    }
}
