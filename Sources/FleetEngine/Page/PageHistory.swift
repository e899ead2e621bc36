// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The page's state with its last changes, numbered, so that a reader who was away goes on where it was.
///
/// Events are in the form of server-sent events. The number of an event holds the run it belongs to: a reader from
/// before a restart, or from before the oldest change that is kept, gets the whole state.
struct PageHistory: Sendable {
    private struct Snapshot: Encodable {
        let now: Int64
        let state: PageState
        let trails: PageTrails
    }

    private struct Change: Encodable {
        let now: Int64
        let changes: PageChanges
    }

    private static let keptChanges = 60
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
        guard let changes = PageChanges(from: self.state, to: state) else { return nil }
        let event = try Self.event(
            "change", id: "\(self.run)-\(self.sequence + 1)", Change(now: now.milliseconds, changes: changes))
        self.sequence += 1
        self.state = state
        self.trails.add(state)
        self.changes.append(event)
        if self.changes.count > Self.keptChanges { self.changes.removeFirst() }
        return event
    }

    /// What a reader is sent first.
    ///
    /// - Parameters:
    ///   - lastEventID: The number of the last event that it got, if any.
    ///   - now: The time that the reader is told.
    /// - Returns: The changes since and a sign of life, as those have the time of their own; or the whole state.
    /// - Throws: `EncodingError`.
    func opening(after lastEventID: String?, at now: Date) throws -> [String] {
        if let missed = self.missed(since: lastEventID) { return missed + [Self.beat(at: now)] }
        let snapshot = Snapshot(now: now.milliseconds, state: self.state, trails: self.trails)
        return [try Self.event("snapshot", id: "\(self.run)-\(self.sequence)", snapshot)]
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

    private static func event(_ name: String, id: String, _ data: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // JSON in this form has no line feeds.
        return "id: \(id)\nevent: \(name)\ndata: \(String(decoding: try encoder.encode(data), as: UTF8.self))\n\n"
    }
}
