// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FleetTokens

/// The tokens and keys that are withdrawn before their end, for ``TokenVerifier`` to ask at each call.
///
/// Whoever knows of some replaces what it knows as a whole; a token is refused as soon as one of them withdraws it.
public final class RevocationList: Sendable {
    private struct State {
        var sources: [String: (fingerprints: Set<UInt64>, keyIDs: Set<String>)] = [:]
        // The sources together, so that a call asks once.
        var fingerprints: Set<UInt64> = []
        var keyIDs: Set<String> = []
    }

    private let state = Locked(State())

    /// Makes an empty list.
    public init() {}

    /// Replaces what a source withdraws.
    ///
    /// - Parameters:
    ///   - fingerprints: The tokens, each by its SHA-256 in hexadecimal, of which the first 16 digits count; what is no
    ///     such number withdraws nothing.
    ///   - keyIDs: The keys whose tokens are all withdrawn.
    ///   - source: Who withdraws them; every source has its own.
    public func replace(
        fingerprints: some Sequence<String>, keyIDs: some Sequence<String>, from source: String = "store"
    ) {
        let fingerprints = Set(fingerprints.compactMap { UInt64($0.prefix(16), radix: 16) })
        let keyIDs = Set(keyIDs)
        self.state.withLock { state in
            state.sources[source] = (fingerprints, keyIDs)
            state.fingerprints = state.sources.values.reduce(into: []) { $0.formUnion($1.fingerprints) }
            state.keyIDs = state.sources.values.reduce(into: []) { $0.formUnion($1.keyIDs) }
        }
    }

    /// Replaces what a source withdraws.
    ///
    /// - Parameters:
    ///   - revocations: What is withdrawn now.
    ///   - source: Who withdraws it.
    public func replace(_ revocations: some Sequence<Revocation>, from source: String = "store") {
        self.replace(
            fingerprints: revocations.lazy.filter { $0.kind == .fingerprint }.map(\.value),
            keyIDs: revocations.lazy.filter { $0.kind == .key }.map(\.value), from: source)
    }

    /// Whether a token is withdrawn, by its fingerprint or with the key that signed it.
    ///
    /// - Parameter minted: The token, which need not be valid any more.
    /// - Returns: Whether it is withdrawn.
    public func holds(_ minted: MintedToken) -> Bool {
        let digest = TokenVerifier.digest(of: minted.token.compactSerialization)
        return self.holds(digest, keyID: minted.keyID, trustedKeyID: nil)
    }

    /// Whether a key is withdrawn, and with it all that it signs.
    ///
    /// - Parameter keyID: The key's id.
    /// - Returns: Whether it is withdrawn.
    package func holds(keyID: String) -> Bool { self.state.withLock { $0.keyIDs.contains(keyID) } }

    /// Whether a token with this digest is withdrawn, by itself or with its key.
    ///
    /// A key that has no id of its own goes by any in its tokens; it is withdrawn by the id under which it is trusted.
    func holds(_ digest: SHA256Digest, keyID: String?, trustedKeyID: String?) -> Bool {
        let start = digest.withUnsafeBytes { UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) }
        return self.state.withLock { state in
            state.fingerprints.contains(start) || keyID.map(state.keyIDs.contains) == true
                || trustedKeyID.map(state.keyIDs.contains) == true
        }
    }
}
