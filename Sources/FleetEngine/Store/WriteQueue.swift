// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A write that waits to be committed together with its neighbours.
struct QueuedWrite: Sendable {
    /// What became of a body that ran, told to its caller once the group is durable.
    struct Outcome: Sendable {
        /// What the body threw.
        let failure: (any Error)?
        /// Whether what the body put is kept; a body that threw leaves nothing.
        var isKept: Bool { self.failure == nil }
        /// Resumes the caller with the body's result or error.
        let reply: @Sendable () -> Void
    }

    /// Tells this write from the others, so that its caller can take it back.
    let ticket: UInt64
    /// Runs the body.
    let run: @Sendable (any EngineTransaction) -> Outcome
    /// Resumes the caller with an error; the body has not run or was undone.
    let reject: @Sendable (any Error) -> Void
    /// What the body was seen to look for, where a store locks that before it runs the body.
    var keys: Set<ResourceKey> = []
    /// Since when others were seen to hold what the body looks for, if they do.
    var heldSince: ContinuousClock.Instant?
}

/// The writes that wait, as a plain value: what may join, what goes next, and whether someone is at work.
struct WriteQueue {
    /// What is to be done after a write asked to join.
    enum Admission: Hashable {
        /// The writer is at work and will come to it.
        case waits
        /// The writer rests and must be started.
        case startsWriter
        /// Too many wait already.
        case full
        /// The store was closed.
        case closed
    }

    private let groupLimit: Int
    private let waitingLimit: Int
    private var waiting: [QueuedWrite] = []
    private var isWriterRunning = false
    private var isClosed = false
    private var nextTicket: UInt64 = 0

    init(groupLimit: Int, waitingLimit: Int) {
        self.groupLimit = groupLimit
        self.waitingLimit = waitingLimit
    }

    /// How many writes wait.
    var count: Int { self.waiting.count }

    mutating func makeTicket() -> UInt64 {
        defer { self.nextTicket += 1 }
        return self.nextTicket
    }

    mutating func admit(_ write: QueuedWrite) -> Admission {
        guard !self.isClosed else { return .closed }
        guard self.waiting.count < self.waitingLimit else { return .full }
        self.waiting.append(write)
        guard !self.isWriterRunning else { return .waits }
        self.isWriterRunning = true
        return .startsWriter
    }

    /// Takes back a write that no group has taken yet; `nil` when it is too late.
    mutating func withdraw(_ ticket: UInt64) -> QueuedWrite? {
        guard let index = self.waiting.firstIndex(where: { $0.ticket == ticket }) else { return nil }
        return self.waiting.remove(at: index)
    }

    /// The writes to commit next, in the order of their arrival; `nil` sends the writer to rest.
    mutating func nextGroup() -> [QueuedWrite]? {
        guard !self.waiting.isEmpty else {
            self.isWriterRunning = false
            return nil
        }
        let group = Array(self.waiting.prefix(self.groupLimit))
        self.waiting.removeFirst(group.count)
        return group
    }

    mutating func close() {
        self.isClosed = true
    }
}
