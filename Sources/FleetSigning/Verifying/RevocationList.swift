// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FleetTokens

/// The tokens and keys that are withdrawn before their end, for ``TokenVerifier`` to ask at each call.
///
/// Whoever owns the list replaces it as a whole; it holds what is withdrawn now and nothing else.
public final class RevocationList: Sendable {
    private struct State {
        var fingerprints: Set<UInt64> = []
        var keyIDs: Set<String> = []
    }

    private let state = Locked(State())

    /// Makes an empty list.
    public init() {}

    /// Replaces what is withdrawn.
    ///
    /// - Parameters:
    ///   - fingerprints: The tokens, each by the first 8 bytes of its SHA-256 in hexadecimal.
    ///   - keyIDs: The keys whose tokens are all withdrawn.
    public func replace(fingerprints: some Sequence<String>, keyIDs: some Sequence<String>) {
        let fingerprints = Set(fingerprints.compactMap { UInt64($0, radix: 16) })
        let keyIDs = Set(keyIDs)
        self.state.withLock { $0 = State(fingerprints: fingerprints, keyIDs: keyIDs) }
    }

    /// Whether a token with this digest, signed by this key, is withdrawn.
    func holds(_ digest: SHA256Digest, keyID: String) -> Bool {
        let start = digest.withUnsafeBytes { UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) }
        return self.state.withLock { $0.fingerprints.contains(start) || $0.keyIDs.contains(keyID) }
    }
}
