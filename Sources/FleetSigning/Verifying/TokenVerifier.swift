// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
public import FleetTokens
public import Foundation

/// Verifies tokens against a set of trusted keys, and remembers those that held.
///
/// The memory is bounded, never outlives a token's `exp`, and is dropped when the keys change. A remembered token still
/// has its times checked at each call; only the signature is not computed again.
public final class TokenVerifier: Sendable {
    private struct State {
        var keys: TrustedKeySet
        /// Whose keys ``keys`` are, the verifier's own first.
        var sources: [(name: String, keys: TrustedKeySet)]
        /// Counts the replacements of the keys.
        var generation = 0
        var verified: RecentEntries<DigestKey, ExaminedToken>
    }

    /// A SHA-256 digest as a key; its bits are spread already, so a part of it is hash enough.
    private struct DigestKey: Hashable {
        private let words: SIMD4<UInt64>

        init(_ digest: SHA256Digest) {
            self.words = digest.withUnsafeBytes { $0.loadUnaligned(as: SIMD4<UInt64>.self) }
        }

        func hash(into hasher: inout Hasher) { hasher.combine(self.words.x) }
    }

    private let examiner: TokenExaminer
    private let revocations: RevocationList?
    private let remembers: Bool
    private let state: Locked<State>

    /// Makes a verifier.
    ///
    /// - Parameters:
    ///   - keys: The keys to trust.
    ///   - timeRules: The time rules in force.
    ///   - revocations: The tokens and keys that are withdrawn, asked at each call; `nil` where none can be.
    ///   - cacheCapacity: How many verified tokens are remembered, about 1 KiB each; 0 remembers none.
    public init(
        keys: TrustedKeySet, timeRules: TokenTimeRules = TokenTimeRules(), revocations: RevocationList? = nil,
        cacheCapacity: Int = 100_000
    ) {
        self.examiner = TokenExaminer(timeRules: timeRules)
        self.revocations = revocations
        let verified = RecentEntries<DigestKey, ExaminedToken>(capacity: cacheCapacity)
        self.remembers = verified.holdsAnything
        self.state = Locked(State(keys: keys, sources: [(Self.own, keys)], verified: verified))
    }

    /// Whether anybody is asked for what is withdrawn.
    package var looksAtWithdrawals: Bool { self.revocations != nil }

    /// The keys in force.
    public var keys: TrustedKeySet { self.state.withLock { $0.keys } }

    /// The name of the keys that the verifier is made with.
    public static let own = "own"

    /// The keys of one source.
    public func keys(from source: String) -> TrustedKeySet? {
        self.state.withLock { $0.sources.first { $0.name == source }?.keys }
    }

    /// Replaces the keys of a source; every remembered token is forgotten.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - source: Who vouches for them; every source has its own, and all are trusted.
    public func replaceKeys(_ keys: TrustedKeySet, from source: String = TokenVerifier.own) {
        self.state.withLock { state in
            if let index = state.sources.firstIndex(where: { $0.name == source }) {
                state.sources[index].keys = keys
            } else {
                state.sources.append((source, keys))
            }
            state.keys = TrustedKeySet(state.sources.flatMap(\.keys.keys))
            state.generation += 1
            state.verified.removeAll()
        }
    }

    /// Verifies a token.
    ///
    /// - Parameters:
    ///   - token: The compact JWS as it was received.
    ///   - now: The time to judge by.
    /// - Returns: What the token says, and who vouches for it.
    /// - Throws: `TokenRefusal` for the first rule that does not hold.
    public func verify(_ token: String, at now: Date) throws(TokenRefusal) -> ExaminedToken {
        // A token that is too long is refused before it is hashed; the examiner words it.
        guard self.remembers || self.revocations != nil, token.utf8.count <= CompactJWS.maximumBytes else {
            return try self.examiner.examine(token, keys: self.keys, now: now)
        }
        let digest = Self.digest(of: token)
        let examined = try self.examined(token, digest, at: now)
        guard let revocations,
            revocations.holds(digest, keyID: examined.keyID, trustedKeyID: examined.trustedKeyID)
        else { return examined }
        throw .revoked
    }

    private func examined(_ token: String, _ digest: SHA256Digest, at now: Date) throws(TokenRefusal) -> ExaminedToken {
        guard self.remembers else { return try self.examiner.examine(token, keys: self.keys, now: now) }
        let key = DigestKey(digest)
        if let known = self.state.withLock({ $0.verified[key] }) {
            do throws(TokenRefusal) {
                try self.examiner.checkTimes(of: known, now: now)
                return known
            } catch {
                self.state.withLock { $0.verified[key] = nil }
                throw error
            }
        }
        let (keys, generation) = self.keysInForce
        let examined = try self.examiner.examine(token, keys: keys, now: now)
        self.remember(examined, digest, verifiedWith: generation)
        return examined
    }

    /// The keys that a token is verified with, and a number that is another when they are.
    var keysInForce: (keys: TrustedKeySet, generation: Int) { self.state.withLock { ($0.keys, $0.generation) } }

    /// Remembers a token, unless the keys that it was verified with have been replaced since, and may be withdrawn.
    func remember(_ examined: ExaminedToken, _ digest: SHA256Digest, verifiedWith generation: Int) {
        self.state.withLock { state in
            guard state.generation == generation else { return }
            state.verified[DigestKey(digest)] = examined
        }
    }

    /// The fingerprint of a token, as `FleetToken` gives it; computed by swift-crypto, for those who need many.
    package static func fingerprint(of token: String) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let bytes = self.digest(of: token).prefix(8).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func digest(of token: String) -> SHA256Digest {
        var token = token
        return token.withUTF8 { Crypto.SHA256.hash(bytes: UnsafeRawBufferPointer($0)) }
    }

    /// Explains what becomes of a token under the keys and withdrawals in force; see `TokenExaminer.explain`.
    public func explain(_ token: String, request: AccessRequest?, at now: Date) -> TokenExplanation {
        guard let revocations else {
            return self.examiner.explain(token, request: request, keys: self.keys, now: now)
        }
        return self.examiner.explain(token, request: request, keys: self.keys, now: now) { keyID, trustedKeyID in
            revocations.holds(Self.digest(of: token), keyID: keyID, trustedKeyID: trustedKeyID)
        }
    }
}
