// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation

/// What is withdrawn, as the published list tells it.
///
/// The list has no room for everything: tokens are left out whose key is itself withdrawn at least until they end.
final class ListedRevocations: Sendable {
    /// The tokens of a key, up to a place in the audit.
    private struct Tokens {
        var fingerprints: Set<String> = []
        var end: AuditHead?
    }

    private let store: RevocationStore
    private let tokens = Locked<[String: Tokens]>([:])

    /// Lists what a store holds.
    init(of store: RevocationStore) {
        self.store = store
    }

    /// What is withdrawn at a time.
    ///
    /// - Throws: An error of the store.
    func current(at now: Date) async throws -> [Revocation] {
        let current = try await self.store.current(at: now)
        let tokens = self.tokens.withLock { $0 }
        let keys = current.filter { $0.kind == .key }.compactMap { key in
            tokens[key.value].map { (fingerprints: $0.fingerprints, endsAt: key.endsAt) }
        }
        guard !keys.isEmpty else { return current }
        return current.filter { revocation in
            revocation.kind == .key
                || !keys.contains { $0.endsAt >= revocation.endsAt && $0.fingerprints.contains(revocation.value) }
        }
    }

    /// Looks in the audit for the tokens of keys that are withdrawn, for ``current(at:)`` to leave them out.
    ///
    /// That takes long where many were made, and goes on from there the next time.
    ///
    /// - Throws: An error of the store.
    func lookUpTokensOfKeys(at now: Date) async throws {
        let keys = Set(try await self.store.current(at: now).filter { $0.kind == .key }.map(\.value))
        for key in keys {
            var tokens = self.tokens.withLock { $0[key] } ?? Tokens()
            let (fingerprints, end) = try await self.store.tokens(ofKey: key, after: tokens.end, at: now)
            tokens.fingerprints.formUnion(fingerprints)
            tokens.end = end
            self.tokens.withLock { [tokens] in $0[key] = tokens }
        }
        self.tokens.withLock { $0 = $0.filter { keys.contains($0.key) } }
    }
}
