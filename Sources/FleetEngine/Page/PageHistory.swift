// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The page's state with its last changes, numbered, so that a reader who was away goes on where it was.
///
/// Events are in the form of server-sent events. The number of an event holds the run it belongs to: a reader from
/// before a restart, or from before the oldest change that is kept, gets the whole state.
struct PageHistory: Sendable {
    private struct Part: Encodable {
        let now: Int64
        let state: PageState
    }

    private struct Trails: Encodable {
        let now: Int64
        let trails: PageTrails
    }

    private struct Change: Encodable {
        let now: Int64
        let changes: PageChanges
    }

    private static let keptChanges = 60
    /// How many entries of a state are told at once, and how many trails: some 50 kB of either.
    private static let partSize = (entries: 20, trails: 10)
    private let run: String
    private var sequence = 0
    private(set) var state = PageState()
    private var trails = PageTrails()
    /// The last changes as events, oldest first; the last one has the number ``sequence``.
    private var changes: [String] = []

    /// Begins an empty history.
    ///
    /// - Parameter run: Tells this history from any other; of letters and digits.
    init(run: String) {
        self.run = run
    }

    /// Takes over a new state.
    ///
    /// - Parameters:
    ///   - state: What the engine holds now.
    ///   - now: The time of the reading.
    /// - Returns: The event to send, or `nil` where nothing changed.
    /// - Throws: `EncodingError`.
    mutating func advance(to state: PageState, at now: Date) throws -> String? {
        let number = self.sequence + 1
        guard let event = try self.change(from: self.state, to: state, number: number, at: now) else { return nil }
        self.sequence = number
        self.state = state
        self.trails.add(state)
        self.changes.append(event)
        if self.changes.count > Self.keptChanges { self.changes.removeFirst() }
        return event
    }

    /// What differs from a state that was the present one before.
    ///
    /// - Parameters:
    ///   - state: What a reader knows.
    ///   - now: The time that the reader is told.
    /// - Returns: The event to send, or `nil` where nothing changed since.
    /// - Throws: `EncodingError`.
    func change(since state: PageState, at now: Date) throws -> String? {
        try self.change(from: state, to: self.state, number: self.sequence, at: now)
    }

    /// What a reader is sent first.
    ///
    /// The whole state comes in parts, so that a slow reader hears something again and again, and the trails come after
    /// it. Only the last event of all has a number: a reader who went before gets everything from the beginning.
    ///
    /// - Parameters:
    ///   - lastEventID: The number of the last event that it got, if any.
    ///   - now: The time that the reader is told.
    /// - Returns: The changes since, or the whole state; and a sign of life, as changes have the time of their own.
    /// - Throws: `EncodingError`.
    func opening(after lastEventID: String?, at now: Date) throws -> [String] {
        if let missed = self.missed(since: lastEventID) { return missed + [Self.beat(at: now)] }
        let time = now.milliseconds
        var events = try self.state.parts(of: Self.partSize.entries).map { part in
            try Self.event("part", Part(now: time, state: part))
        }
        events.append(try Self.event("snapshot", Part(now: time, state: self.state.withoutEntries)))
        events += try self.trails.parts(of: Self.partSize.trails).map { part in
            try Self.event("trails", Trails(now: time, trails: part))
        }
        events.append("id: \(self.run)-\(self.sequence)\n\(Self.beat(at: now))")
        return events
    }

    /// A sign of life, which keeps proxies from closing the connection and tells the time.
    static func beat(at now: Date) -> String { "event: beat\ndata: {\"now\":\(now.milliseconds)}\n\n" }

    private func missed(since lastEventID: String?) -> [String]? {
        guard let parts = lastEventID?.split(separator: "-", omittingEmptySubsequences: false), parts.count == 2,
            parts[0] == self.run,
            let sequence = Int(parts[1]), sequence <= self.sequence,
            self.sequence - sequence <= self.changes.count
        else { return nil }
        return Array(self.changes.suffix(self.sequence - sequence))
    }

    private func change(from old: PageState, to new: PageState, number: Int, at now: Date) throws -> String? {
        guard let changes = PageChanges(from: old, to: new) else { return nil }
        return "id: \(self.run)-\(number)\n"
            + (try Self.event("change", Change(now: now.milliseconds, changes: changes)))
    }

    private static func event(_ name: String, _ data: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // JSON in this form has no line feeds.
        return "event: \(name)\ndata: \(String(decoding: try encoder.encode(data), as: UTF8.self))\n\n"
    }
}
