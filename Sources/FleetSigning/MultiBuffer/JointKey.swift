// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras

/// A key that makes few signatures one by one and many together, whichever takes less time.
struct JointKey: Sendable {
    private let single: OpenSSLKey
    private let joint: MultiBufferKey
    /// From how many signatures on one call for all takes less time.
    private let least: Int

    /// What makes many signatures.
    var version: String { self.joint.library.version }

    /// Sees that the library signs as the key does in each lane, and measures from how many signatures on it pays.
    ///
    /// It fails where the library does not take the key, signs anything else, or never pays.
    init?(
        _ key: _RSA.Signing.PrivateKey, _ publicKey: RSAPublicKey, library: MultiBufferLibrary,
        beside single: OpenSSLKey
    ) {
        guard let joint = MultiBufferKey(key, library: library, erase: single.library.erase) else { return nil }
        var (together, alone) = (Duration.seconds(1), Duration.seconds(1))
        for round in 0..<Self.rounds {
            let probes = (0..<MultiBufferLibrary.lanes).map { Array("fleetpass \(round) \($0)".utf8) }
            let digests = probes.map { SHA256.hash(data: $0) }
            var signatures: [[UInt8]]?
            together = min(together, ContinuousClock().measure { signatures = joint.signatures(for: digests) })
            alone = min(alone, ContinuousClock().measure { _ = single.signature(for: digests[0]) })
            guard let signatures, zip(signatures, probes).allSatisfy(publicKey.isValidSignature) else { return nil }
        }
        guard let least = Self.least(together: together, alone: alone) else { return nil }
        self.init(single: single, joint: joint, least: least)
    }

    init(single: OpenSSLKey, joint: MultiBufferKey, least: Int) {
        (self.single, self.joint, self.least) = (single, joint, least)
    }

    /// From how many signatures on one call for all takes no more time than one for each; `nil` where it always does.
    static func least(together: Duration, alone: Duration) -> Int? {
        let ratio = together / alone
        return ratio <= Double(MultiBufferLibrary.lanes) ? max(2, Int(ratio.rounded(.up))) : nil
    }

    /// How often a time is taken; the shortest counts, as nothing else shortens one.
    private static let rounds = 3

    /// Makes a signature for each digest; `nil` for one that could not be made.
    func signatures(for digests: [SHA256Digest]) -> [[UInt8]?] {
        if digests.count >= self.least, let signatures = self.joint.signatures(for: digests) { return signatures }
        return digests.map(self.single.signature)
    }
}
