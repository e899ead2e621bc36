// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FleetTokens

/// Verified tokens by the SHA-256 of their text, bounded.
///
/// Two generations bound it without a list of uses: new entries fill the young one; when that is full it becomes the
/// old one, and the old one's leftovers are dropped. An entry that is read moves to the young one.
struct VerificationCache {
    /// A SHA-256 digest as a key; its bits are spread already, so a part of it is hash enough.
    struct Key: Hashable {
        private let words: SIMD4<UInt64>

        init(_ digest: SHA256.Digest) {
            self.words = digest.withUnsafeBytes { $0.loadUnaligned(as: SIMD4<UInt64>.self) }
        }

        func hash(into hasher: inout Hasher) { hasher.combine(self.words.x) }
    }

    private let generationCapacity: Int
    private var young: [Key: ExaminedToken] = [:]
    private var old: [Key: ExaminedToken] = [:]

    init(capacity: Int) {
        self.generationCapacity = capacity / 2
    }

    /// Whether anything can be remembered.
    var isEnabled: Bool { self.generationCapacity > 0 }

    /// How many tokens are remembered.
    var count: Int { self.young.count + self.old.count }

    mutating func token(for key: Key) -> ExaminedToken? {
        if let token = self.young[key] { return token }
        guard let token = self.old.removeValue(forKey: key) else { return nil }
        self.makeRoom()
        self.young[key] = token
        return token
    }

    mutating func insert(_ token: ExaminedToken, for key: Key) {
        guard self.isEnabled else { return }
        self.makeRoom()
        self.young[key] = token
    }

    mutating func remove(_ key: Key) {
        self.young[key] = nil
        self.old[key] = nil
    }

    mutating func removeAll() {
        self.young.removeAll()
        self.old.removeAll()
    }

    private mutating func makeRoom() {
        guard self.young.count >= self.generationCapacity else { return }
        self.old = self.young
        self.young = [:]
    }
}
