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
    private let generationCapacity: Int
    private var young: [SHA256.Digest: ExaminedToken] = [:]
    private var old: [SHA256.Digest: ExaminedToken] = [:]

    init(capacity: Int) {
        self.generationCapacity = capacity / 2
    }

    /// How many tokens are remembered.
    var count: Int { self.young.count + self.old.count }

    mutating func token(for digest: SHA256.Digest) -> ExaminedToken? {
        if let token = self.young[digest] { return token }
        guard let token = self.old.removeValue(forKey: digest) else { return nil }
        self.makeRoom()
        self.young[digest] = token
        return token
    }

    mutating func insert(_ token: ExaminedToken, for digest: SHA256.Digest) {
        guard self.generationCapacity > 0 else { return }
        self.makeRoom()
        self.young[digest] = token
    }

    mutating func remove(_ digest: SHA256.Digest) {
        self.young[digest] = nil
        self.old[digest] = nil
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
