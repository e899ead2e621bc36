// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

/// A provider's way to its ``TokenStore``: writes happen in their order, and what is read is judged by its age.
final class TokenArchive: Sendable {
    /// A change that is to be made.
    enum Write: Sendable {
        case save(TokenSubject, StoredToken)
        case remove(TokenSubject)
        /// Changes nothing, and tells that everything before it is done.
        case tell(CheckedContinuation<Void, Never>)
    }

    let deviceClock: DeviceClock
    private let store: any TokenStore
    private let broadcast: Broadcast<TokenEvent>
    private let writes: AsyncStream<Write>.Continuation

    init(store: any TokenStore, deviceClock: DeviceClock, broadcast: Broadcast<TokenEvent>) {
        self.store = store
        self.deviceClock = deviceClock
        self.broadcast = broadcast
        // Unbounded: there are no more writes than fetches and refusals, which are bounded themselves.
        let (stream, writes) = AsyncStream.makeStream(of: Write.self)
        self.writes = writes
        // Outlives the archive until the last write is done. Sign-out waits for that, whoever made the provider.
        Task(priority: .userInitiated) {
            for await write in stream { await Self.perform(write, on: store, reportingTo: broadcast) }
        }
    }

    deinit {
        self.writes.finish()
    }

    /// Makes a change after those before it.
    func enqueue(_ write: Write) {
        self.writes.yield(write)
    }

    /// Waits until every change so far has been made.
    func finishWrites() async {
        await withCheckedContinuation { self.enqueue(.tell($0)) }
    }

    /// The subject's stored token, if its life is not over.
    func grant(for subject: TokenSubject, clockOffset: Duration?) async -> TokenGrant? {
        do {
            return try await self.store.load(subject)?
                .grant(for: subject, at: self.deviceClock, clockOffset: clockOffset)
        } catch {
            self.broadcast.send(Self.failure(error, of: subject, "read"))
            return nil
        }
    }

    private static func perform(
        _ write: Write, on store: any TokenStore, reportingTo broadcast: Broadcast<TokenEvent>
    ) async {
        switch write {
        case .save(let subject, let token):
            do {
                try await store.save(token, for: subject)
            } catch {
                broadcast.send(Self.failure(error, of: subject, "written"))
            }
        case .remove(let subject):
            do {
                try await store.remove(subject)
            } catch {
                broadcast.send(Self.failure(error, of: subject, "removed"))
            }
        case .tell(let continuation): continuation.resume()
        }
    }

    private static func failure(_ error: any Error, of subject: TokenSubject, _ done: String) -> TokenEvent {
        let wrapped = TokenClientError(
            code: .storeFailed, message: "The stored token could not be \(done); see the cause.", cause: error)
        return .storeFailed(subject, error as? TokenClientError ?? wrapped)
    }
}
