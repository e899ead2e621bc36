// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
public import FleetSigning
import FleetTokens
public import Foundation

/// Signs the list of what is withdrawn, for engines that do not share the token server's store.
///
/// The list is signed anew when it changed, and before it grows old; requests in between get the same bytes.
public final class RevocationPublisher: Sendable {
    /// A signed list.
    struct Document: Sendable {
        /// The compact JWS.
        let text: String
        /// Its `ETag`.
        let entityTag: String
        let list: SignedRevocations
    }

    /// The store is asked at most so often.
    private static let readingInterval: TimeInterval = 1
    /// A list that did not change is signed anew after so long, well before it ends.
    private static let renewal: TimeInterval = SignedRevocations.lifetime / 3

    private struct State {
        var document: Document?
        var readAt: Date?
        /// The look at the store that is under way, which all who ask meanwhile wait for.
        var reading: Task<Document, any Error>?
    }

    /// Where the list comes from.
    private enum Source {
        case memory(Document)
        case store(Task<Document, any Error>)
    }

    let key: RevocationKey
    private let current: @Sendable (Date) async throws -> [Revocation]
    private let now: @Sendable () -> Date
    private let state = Locked(State())

    /// Publishes a store's list.
    ///
    /// - Parameters:
    ///   - key: Signs.
    ///   - now: The clock.
    ///   - current: What is withdrawn at a time.
    public init(
        key: RevocationKey, now: @escaping @Sendable () -> Date = { Date() },
        current: @escaping @Sendable (Date) async throws -> [Revocation]
    ) {
        self.key = key
        self.current = current
        self.now = now
    }

    /// How many entries the list that was made last has no room for; none where nobody has asked for any.
    ///
    /// It is of now while ``keepUp()`` is called now and then.
    var leftOut: Int { self.state.withLock { $0.document?.list.leftOut } ?? 0 }

    /// What the list that was made last does not tell, in words; `nil` where it tells all, or nobody has asked for any.
    var problem: String? {
        guard let list = self.state.withLock({ $0.document })?.list, list.leftOut > 0 else { return nil }
        return "the list of revocations has no room for \(list.leftOut) of \(list.leftOut + list.revocations.count) "
            + "entries, which engines that follow it do not hear of; withdraw the key"
    }

    /// Looks at the store again, where somebody has asked for the list since the start.
    func keepUp() async throws {
        guard self.state.withLock({ $0.document }) != nil else { return }
        _ = try await self.document()
    }

    /// The list as it is now.
    func document() async throws -> Document {
        let now = self.now()
        let source = self.state.withLock { state -> Source in
            if let last = state.document, let readAt = state.readAt,
                (0..<Self.readingInterval).contains(now.timeIntervalSince(readAt))
            {
                return .memory(last)
            }
            // Unstructured on purpose: who asked first may go, and others wait.
            let reading = state.reading ?? Task { try await self.read() }
            state.reading = reading
            return .store(reading)
        }
        switch source {
        case .memory(let document): return document
        case .store(let reading): return try await reading.value
        }
    }

    private func read() async throws -> Document {
        do {
            let document = try await self.newest()
            // Counted from the end: a store that is slow would be asked without a rest.
            self.state.withLock { $0 = State(document: document, readAt: self.now(), reading: nil) }
            return document
        } catch {
            self.state.withLock { $0.reading = nil }
            throw error
        }
    }

    /// The list of the store, or the last one where that says the same and is not old.
    private func newest() async throws -> Document {
        let now = self.now()
        let last = self.state.withLock { $0.document }
        let list = SignedRevocations(try await self.current(now), at: now)
        if let last, (list.revocations, list.leftOut) == (last.list.revocations, last.list.leftOut),
            (0..<Self.renewal).contains(list.issuedAt.timeIntervalSince(last.list.issuedAt))
        {
            return last
        }
        let text = try list.signed(with: self.key)
        let tag = SHA256.hash(data: Data(text.utf8)).prefix(12).hexadecimal
        return Document(text: text, entityTag: "\"\(tag)\"", list: list)
    }
}
