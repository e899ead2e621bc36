// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetSigning
import FleetTokens
public import Foundation

/// The keys of one account, oldest first, and when each is good for what.
public struct KeyRing: Sendable {
    /// One key of the ring.
    public struct Entry: Sendable {
        /// The key.
        public let key: ServiceAccountKey
        /// Signs with it.
        let signer: any PayloadSigner
        /// Makes tokens with it.
        let minter: TokenMinter
        /// Makes tokens for everything of a kind, each once for all who ask; they go with the key.
        let shared: RoleSigners
        /// Its file's name.
        fileprivate(set) var file: String

        init(
            _ key: ServiceAccountKey, signer: LocalSigner, of role: Role, file: String, clock: some Clock<Duration>,
            now: @escaping @Sendable () -> Date
        ) {
            self.key = key
            self.signer = signer
            self.minter = TokenMinter(signer: signer)
            self.shared = RoleSigners([role: signer], clock: clock, now: now)
            self.file = file
        }
    }

    /// The keys, oldest first.
    public let entries: [Entry]
    /// When each is good for what, in the same order.
    public let schedule: KeySchedule

    init(entries: [Entry], schedule: KeySchedule) {
        self.entries = entries
        self.schedule = schedule
    }

    /// The key that signs at a time; where it is withdrawn, the first that may sign in its place and is not.
    func signing(at time: Date, unless isWithdrawn: (_ keyID: String) -> Bool = { _ in false }) -> Entry? {
        self.schedule.signers(at: time).map { self.entries[$0] }.first { !isWithdrawn($0.key.keyID) }
    }

    /// The keys that verifiers are to trust at a time.
    public func published(at time: Date) -> [ServiceAccountKey] {
        self.publishedEntries(at: time).map(\.key)
    }

    /// The keys whose files hold others in a later ring that this one did not have, and of which tokens may be alive.
    ///
    /// A key whose file is gone, or holds the key that followed it, was removed on purpose.
    func exchanged(in later: KeyRing?, at time: Date) -> [ServiceAccountKey] {
        let known = Set(self.entries.map(\.key.keyID))
        let files = Set((later?.entries ?? []).filter { !known.contains($0.key.keyID) }.map(\.file))
        return self.publishedEntries(at: time).filter { files.contains($0.file) }.map(\.key)
    }

    /// The keys that a later ring has too, and withdraws while tokens of them may be alive: a key of an earlier time was
    /// made known after they had signed, by a clock that is behind.
    func cutShort(in later: KeyRing?, at time: Date) -> [ServiceAccountKey] {
        guard let later else { return [] }
        return self.entries.indices.filter { index in
            guard let end = self.schedule.end(of: index, signingUntil: time),
                let next = later.entries.firstIndex(where: { $0.key.keyID == self.entries[index].key.keyID }),
                let nextEnd = later.schedule.end(of: next)
            else { return false }
            return nextEnd < end
        }.map { self.entries[$0].key }
    }

    /// The keys with one that follows them.
    func adding(_ entry: Entry, published: Date) -> KeyRing {
        KeyRing(entries: self.entries + [entry], schedule: self.schedule.adding(published))
    }

    /// The keys that are left where one is removed and another goes on, which takes its file and time if it is the next.
    func removing(_ index: Int, for successor: Int) -> KeyRing {
        var entries = self.entries
        if successor > index { entries[successor].file = entries[index].file }
        entries.remove(at: index)
        return KeyRing(entries: entries, schedule: self.schedule.removing(max(index, successor)))
    }

    private func publishedEntries(at time: Date) -> [Entry] {
        self.entries.indices.filter { self.schedule.state(of: $0, at: time) != .retired }.map { self.entries[$0] }
    }
}
