// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// When each key of an account is published, signs, and is withdrawn; derived from when each was made known.
///
/// A new key is published first and signs only once every verifier has had the time to learn it. The old one stays
/// published until the last token that it signed has ended by every clock. So no good token is ever refused for its
/// key, whatever the order in which servers and verifiers read the keys.
public struct KeySchedule: Sendable {
    /// How long the parts of a rotation take.
    public struct Times: Hashable, Sendable {
        /// From publication to the first signature: twice what a verifier may keep a key set, so that clocks may
        /// differ by as much.
        public var lead: Duration
        /// From the last signature to the withdrawal: a token's life, and twice the difference of clocks.
        public var retention: Duration

        /// The times for key sets that are kept 5 minutes, tokens of an hour, and clocks that differ by 5 minutes.
        public static let standard = Self(lead: .seconds(600), retention: .seconds(4200))

        /// Describes a rotation.
        public init(lead: Duration, retention: Duration) {
            self.lead = lead
            self.retention = retention
        }
    }

    /// What a key is good for at a time.
    public enum State: String, Hashable, Sendable {
        /// Known to verifiers, and signs nothing yet.
        case published
        /// Signs new tokens.
        case signing
        /// Signs no more; the tokens it signed still hold.
        case retiring
        /// No token of it can be alive.
        case retired
    }

    private var starts: [Date]
    private let times: Times

    /// Plans the keys of one account.
    ///
    /// - Parameters:
    ///   - published: When each key was made known, oldest first; the oldest signs from the beginning.
    ///   - times: How long the parts of a rotation take.
    public init(published: [Date], times: Times = .standard) {
        self.starts = published.enumerated().map { index, date in
            index == 0 ? .distantPast : date.addingTimeInterval(times.lead / .seconds(1))
        }
        self.times = times
    }

    /// The plan with a key that was made known after all others.
    func adding(_ published: Date) -> Self {
        var schedule = self
        schedule.starts.append(published.addingTimeInterval(self.times.lead / .seconds(1)))
        return schedule
    }

    /// The plan without the time of one key, which is not the oldest.
    func removing(_ index: Int) -> Self {
        var schedule = self
        schedule.starts.remove(at: index)
        return schedule
    }

    /// When a key begins to sign.
    public func start(of index: Int) -> Date { self.starts[index] }

    /// When no token of a key can be alive any more; `nil` for the newest key.
    public func end(of index: Int) -> Date? {
        guard index + 1 < self.starts.count else { return nil }
        return self.starts[index + 1].addingTimeInterval(self.times.retention / .seconds(1))
    }

    /// When no token of a key can be alive any more that it may have signed up to a time; `nil` where the key is retired.
    func end(of index: Int, signingUntil time: Date) -> Date? {
        switch self.state(of: index, at: time) {
        case .published, .signing: time.addingTimeInterval(self.times.retention / .seconds(1))
        case .retiring: self.end(of: index)
        case .retired: nil
        }
    }

    /// The key that signs at a time; `nil` where there is no key.
    public func signing(at time: Date) -> Int? {
        self.starts.lastIndex { $0 <= time }
    }

    /// The keys that may sign at a time: the one that does, and those that follow it.
    ///
    /// Those before it are published for as long as the tokens of their own time live, and no longer.
    func signers(at time: Date) -> Range<Int> {
        self.signing(at: time).map { $0..<self.starts.count } ?? 0..<0
    }

    /// Which key goes on in the place of one that is removed: the next, or the one before where there is no next.
    ///
    /// - Parameters:
    ///   - index: The key that is removed.
    ///   - time: The time.
    /// - Returns: The key; `nil` where there is none but one that is retired, which never signs again.
    package func successor(of index: Int, at time: Date) -> Int? {
        if index + 1 < self.starts.count { return index + 1 }
        return index > 0 && self.state(of: index - 1, at: time) != .retired ? index - 1 : nil
    }

    /// What a key is good for at a time.
    public func state(of index: Int, at time: Date) -> State {
        if time < self.starts[index] { return .published }
        if self.signing(at: time) == index { return .signing }
        return self.end(of: index).map { time < $0 } ?? true ? .retiring : .retired
    }
}
