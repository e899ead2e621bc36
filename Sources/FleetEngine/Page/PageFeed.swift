// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

/// Sends the page's state to its readers: the whole state first, then changes, and a sign of life in between.
///
/// There are so many readers at most, and a reader that does not keep up is let go; its browser comes back by itself and
/// goes on where it was. A reader has all the time it takes to hear what it is sent first, as long as it hears some of it
/// now and then.
final class PageFeed: Sendable {
    /// One reader's events.
    struct Reader: Sendable {
        let id: UInt64
        /// What it is sent first, in parts, each of which is kept until it is taken.
        let opening: AsyncStream<String>
        /// What it is sent after that, once it follows.
        let events: AsyncStream<String>
        /// Ends when the reader is let go, even while a write to it is stuck.
        let end: AsyncStream<Never>
    }

    private struct Connection {
        let events: AsyncStream<String>.Continuation
        let end: AsyncStream<Never>.Continuation
        /// The state that its opening leads to, until all of that is written.
        var opening: PageState?
        /// How many events there were since a part of its opening was written.
        var waits = 0

        /// Passes an event on, or is false for a reader that is too far behind.
        mutating func take(_ event: String) -> Bool {
            guard self.opening == nil else {
                // What changes meanwhile is told when it follows.
                self.waits += 1
                return self.waits <= PageFeed.maximumWaiting
            }
            if case .dropped = self.events.yield(event) { return false }
            return true
        }

        func finish() {
            self.events.finish()
            self.end.finish()
        }
    }

    private struct State {
        var history: PageHistory
        var readers: [UInt64: Connection] = [:]
        var nextReader: UInt64 = 0
        var lastEvent = Date.distantPast
        var isClosed = false
    }

    static let maximumReaders = 32
    /// How many events may wait for a reader, or go by without a part of its opening being written.
    static let maximumWaiting = 32
    private static let beatInterval: TimeInterval = 10
    private let state: Locked<State>

    init(run: String) {
        self.state = Locked(State(history: PageHistory(run: run)))
    }

    /// Whether one more reader would be too many.
    var isFull: Bool { self.state.withLock { $0.isClosed || $0.readers.count >= Self.maximumReaders } }

    /// Adds a reader, which follows once its opening is written; `nil` where there are too many, or where the feed is
    /// closed.
    func join(after lastEventID: String?, at now: Date) throws -> Reader? {
        try self.state.withLock { state in
            guard !state.isClosed, state.readers.count < Self.maximumReaders else { return nil }
            let (opening, parts) = AsyncStream.makeStream(of: String.self)
            for part in try state.history.opening(after: lastEventID, at: now) { parts.yield(part) }
            parts.finish()
            let (events, continuation) = AsyncStream.makeStream(
                of: String.self, bufferingPolicy: .bufferingOldest(Self.maximumWaiting))
            let (end, endContinuation) = AsyncStream.makeStream(of: Never.self)
            let id = state.nextReader
            state.nextReader += 1
            state.readers[id] = Connection(events: continuation, end: endContinuation, opening: state.history.state)
            return Reader(id: id, opening: opening, events: events, end: end)
        }
    }

    /// Notes that a part of a reader's opening was written.
    func noteProgress(of reader: Reader) {
        self.state.withLock { $0.readers[reader.id]?.waits = 0 }
    }

    /// Sends a reader whose opening is written what changed meanwhile, and every event from now on.
    ///
    /// - Throws: `EncodingError`.
    func follow(_ reader: Reader, at now: Date) throws {
        try self.state.withLock { state in
            guard let opening = state.readers[reader.id]?.opening else { return }
            let missed = try state.history.change(since: opening, at: now)
            state.readers[reader.id]?.opening = nil
            if let missed { state.readers[reader.id]?.events.yield(missed) }
        }
    }

    /// Removes a reader that went.
    func leave(_ reader: Reader) {
        self.state.withLock { $0.readers.removeValue(forKey: reader.id) }?.finish()
    }

    /// Sends what changed, or a sign of life when nothing did for a while.
    ///
    /// - Throws: `EncodingError`; nothing was sent then, and readers keep what they have.
    func publish(_ new: PageState, at now: Date) throws {
        try self.send(at: now) { history in try history.advance(to: new, at: now) }
    }

    /// Sends a sign of life when nothing was sent for a while: where there is no new state.
    func beat(at now: Date) {
        self.send(at: now) { _ in nil }
    }

    private func send<Failure: Error>(
        at now: Date, _ change: (inout PageHistory) throws(Failure) -> String?
    ) throws(Failure) {
        let dropped = try self.state.withLock { (state) throws(Failure) -> [Connection] in
            var event = try change(&state.history)
            // A clock that was set back says nothing of how long readers have heard nothing.
            if event == nil, !(0..<Self.beatInterval).contains(now.timeIntervalSince(state.lastEvent)) {
                event = PageHistory.beat(at: now)
            }
            guard let event else { return [] }
            state.lastEvent = now
            let slow = state.readers.keys.filter { state.readers[$0]?.take(event) == false }
            return slow.compactMap { state.readers.removeValue(forKey: $0) }
        }
        for connection in dropped { connection.finish() }
    }

    /// Ends every reader and takes no more.
    func close() {
        let readers = self.state.withLock { state in
            state.isClosed = true
            defer { state.readers = [:] }
            return state.readers
        }
        for connection in readers.values { connection.finish() }
    }
}
