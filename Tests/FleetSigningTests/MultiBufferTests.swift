// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import FleetTokens
import Foundation
import Testing

@testable import FleetSigning

/// What is signed together, beside what swift-crypto signs alone.
@Suite(.enabled(if: OpenSSLLibrary.installed != nil, "needs OpenSSL 3 (libcrypto.so.3)"))
struct MultiBufferTests {
    private static func key(bits: Int) throws -> _RSA.Signing.PrivateKey { try .init(keySize: .init(bitCount: bits)) }

    private static func multiBufferKey(
        _ key: _RSA.Signing.PrivateKey, _ library: MultiBufferLibrary = StandInMultiBuffer.library
    ) throws -> MultiBufferKey? {
        MultiBufferKey(key, library: library, erase: try #require(OpenSSLLibrary.installed).erase)
    }

    private static func signatures(_ key: _RSA.Signing.PrivateKey, for digests: [SHA256Digest]) throws -> [[UInt8]] {
        try digests.map { Array(try key.signature(for: $0, padding: .insecurePKCS1v1_5).rawRepresentation) }
    }

    private static func digests(_ count: Int) -> [SHA256Digest] {
        (0..<count).map { SHA256.hash(data: [UInt8($0)]) }
    }

    // MARK: - Keys

    @Test(arguments: [2048, 3072, 4096])
    func `each lane makes the same signature byte for byte`(bits: Int) throws {
        let key = try Self.key(bits: bits)
        let joint = try #require(try Self.multiBufferKey(key))
        for count in 1...8 {
            let digests = Self.digests(count)
            #expect(try joint.signatures(for: digests) == Self.signatures(key, for: digests))
        }
        #expect(joint.signatures(for: []) == nil)
        #expect(joint.signatures(for: Self.digests(9)) == nil)
    }

    @Test(
        .enabled(if: MultiBufferLibrary.installed != nil, "needs Intel's multi-buffer library (libcrypto_mb.so)"),
        arguments: [2048, 3072, 4096])
    func `the library of this machine makes the same signatures`(bits: Int) throws {
        let key = try Self.key(bits: bits)
        let library = try #require(MultiBufferLibrary.installed)
        let joint = try #require(try Self.multiBufferKey(key, library))
        for count in [1, 5, 8, 8, 8] {
            let digests = Self.digests(count)
            #expect(try joint.signatures(for: digests) == Self.signatures(key, for: digests))
        }
    }

    @Test func `a key of another size, or with the smaller prime first, is left to OpenSSL`() throws {
        #expect(try Self.multiBufferKey(Self.key(bits: 2560)) == nil)
        let key = try Self.key(bits: 2048)
        let swapped = try Self.swappingPrimes(of: key)
        #expect(try Self.signatures(swapped, for: Self.digests(1)) == Self.signatures(key, for: Self.digests(1)))
        #expect(try Self.multiBufferKey(swapped) == nil)
    }

    private static func swappingPrimes(of key: _RSA.Signing.PrivateKey) throws -> _RSA.Signing.PrivateKey {
        // Version, modulus, both exponents and the primes, each behind its tag and length, are read off the key's form.
        var rest = Array(key.derRepresentation)[...]
        func length() -> Int {
            rest.removeFirst()
            let first = Int(rest.removeFirst())
            guard first > 127 else { return first }
            return (0..<first - 128).reduce(0) { length, _ in length << 8 | Int(rest.removeFirst()) }
        }
        _ = length()
        let numbers = (0..<6).map { _ in
            let count = length()
            defer { rest.removeFirst(count) }
            return Data(rest.prefix(count))
        }
        return try .init(n: numbers[1], e: numbers[2], d: numbers[3], p: numbers[5], q: numbers[4])
    }

    @Test func `a call of which one lane failed makes no signature`() throws {
        let joint = try #require(try Self.multiBufferKey(Self.key(bits: 2048), StandInMultiBuffer.failing))
        #expect(joint.signatures(for: Self.digests(8)) == nil)
    }

    // MARK: - Few and many

    @Test func `few are signed one by one, and so are many where the library fails`() throws {
        let key = try Self.key(bits: 2048)
        let openSSL = try #require(OpenSSLLibrary.installed)
        let single = try #require(OpenSSLKey(key, library: openSSL))
        for (library, least) in [
            (StandInMultiBuffer.library, 4), (StandInMultiBuffer.failing, 4), (StandInMultiBuffer.faulty, 9),
        ] {
            let joint = try #require(try Self.multiBufferKey(key, library))
            let both = JointKey(single: single, joint: joint, least: least)
            for count in [1, 3, 4, 8] {
                let digests = Self.digests(count)
                #expect(try both.signatures(for: digests) == Self.signatures(key, for: digests))
            }
        }
    }

    @Test(arguments: [
        (970, 250, 4), (1000, 250, 4), (1001, 250, 5), (2000, 250, 8), (2001, 250, nil), (100, 250, 2), (9, 0, nil),
    ])
    func `how many are many is what was measured`(together: Int, alone: Int, least: Int?) {
        #expect(JointKey.least(together: .microseconds(together), alone: .microseconds(alone)) == least)
    }

    @Test func `a library that errs in one lane, or fails, is not used`() throws {
        let key = try TestKeys.driver.get()
        let library = try #require(OpenSSLLibrary.installed)
        for stand in [StandInMultiBuffer.faulty, StandInMultiBuffer.failing] {
            let signer = try LocalSigner(key, library: library, multiBuffer: stand)
            #expect(signer.implementation == library.version)
        }
        let slow = try LocalSigner(key, library: nil, multiBuffer: StandInMultiBuffer.library)
        #expect(slow.implementation == "swift-crypto")
    }

    @Test(.enabled(if: MultiBufferLibrary.installed != nil, "needs Intel's multi-buffer library (libcrypto_mb.so)"))
    func `tokens that are wanted at once are signed by both libraries`() async throws {
        let signer = try LocalSigner(TestKeys.driver.get())
        let (openSSL, multiBuffer) = (OpenSSLLibrary.installed?.version, MultiBufferLibrary.installed?.version)
        #expect(signer.implementation == "\(openSSL ?? "") and \(multiBuffer ?? "")")
        let minter = TokenMinter(signer: signer)
        try await withThrowingTaskGroup(of: MintedToken.self) { group in
            for _ in 0..<64 { group.addTask { try await minter.mint(nil, at: Date(timeIntervalSince1970: 1)) } }
            let tokens = try await group.reduce(into: Set()) { $0.insert($1.token.compactSerialization) }
            #expect(tokens.count == 1)
        }
    }
}

/// Who signs for whom.
@Suite struct SigningGroupsTests {
    /// Who of several has come so far.
    @MainActor private final class Arrivals {
        private let all: Int
        private var count = 0
        private var waiting: [CheckedContinuation<Void, Never>] = []

        init(all: Int) { self.all = all }

        func come() {
            self.count += 1
            guard self.count == self.all else { return }
            for waiter in self.waiting { waiter.resume() }
        }

        /// Waits until all have come, and what they do until they wait themselves is done.
        func areAll() async {
            guard self.count < self.all else { return }
            await withCheckedContinuation { self.waiting.append($0) }
        }
    }

    private static func signature(_ digest: SHA256Digest) -> [UInt8] { Array(digest.reversed()) }

    @Test(arguments: [(1, [1]), (8, [8]), (9, [8, 1]), (20, [8, 8, 4])]) @MainActor
    func `those who ask at once are signed for in groups`(count: Int, sizes: [Int]) async {
        let arrivals = Arrivals(all: count)
        let signed = Locked<[Int]>([])
        let groups = SigningGroups(upTo: 8, letOthersGo: { await arrivals.areAll() }) { digests in
            signed.withLock { $0.append(digests.count) }
            return digests.map(Self.signature)
        }
        let tasks = (0..<count).map { number in
            Task {
                let digest = SHA256.hash(data: [UInt8(number)])
                arrivals.come()
                return await groups.signature(for: digest) == Self.signature(digest)
            }
        }
        for task in tasks { #expect(await task.value) }
        #expect(signed.withLock { $0.sorted(by: >) } == sizes)
    }

    @Test func `who asks alone is signed for alone, time and again`() async {
        let signed = Locked<[Int]>([])
        let groups = SigningGroups(upTo: 8) { digests in
            signed.withLock { $0.append(digests.count) }
            return digests.map(Self.signature)
        }
        for number in 0..<3 {
            let digest = SHA256.hash(data: [UInt8(number)])
            #expect(await groups.signature(for: digest) == Self.signature(digest))
        }
        #expect(signed.withLock { $0 } == [1, 1, 1])
    }

    private static let unsigned = SHA256.hash(data: [156])

    @Test(arguments: [1, 2, 8]) func `everybody on every thread gets the signature of his own`(size: Int) async {
        let groups = SigningGroups(upTo: size) { digests in
            #expect(digests.count <= size)
            return digests.map { $0 == Self.unsigned ? nil : Self.signature($0) }
        }
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<2000 {
                group.addTask {
                    let digest = SHA256.hash(data: [UInt8(number & 0xFF)])
                    let expected = digest == Self.unsigned ? nil : Self.signature(digest)
                    return await groups.signature(for: digest) == expected
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }

    @Test func `who gives up is signed for, and nobody waits for ever`() async {
        let groups = SigningGroups(upTo: 2) { $0.map(Self.signature) }
        let digest = SHA256.hash(data: [7])
        let tasks = (0..<50).map { _ in Task { await groups.signature(for: digest) } }
        for task in tasks { task.cancel() }
        for task in tasks { #expect(await task.value == Self.signature(digest)) }
    }
}
