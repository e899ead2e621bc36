// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import FleetTokens
import Foundation
import Testing

@testable import FleetSigning

/// What OpenSSL signs, beside swift-crypto; on machines that have OpenSSL 3.
@Suite(.enabled(if: OpenSSLLibrary.installed != nil, "needs OpenSSL 3 (libcrypto.so.3)"))
struct OpenSSLTests {
    private static func key(bits: Int) throws -> ServiceAccountKey {
        let key = try _RSA.Signing.PrivateKey(keySize: .init(bitCount: bits))
        return try ServiceAccountKey(
            pem: key.pkcs8PEMRepresentation, account: "driver@acme.iam.gserviceaccount.com", keyID: "k\(bits)")
    }

    @Test(arguments: [2048, 3072, 4096])
    func `both libraries make the same signatures byte for byte`(bits: Int) async throws {
        let key = try Self.key(bits: bits)
        let fast = try LocalSigner(key)
        let slow = try LocalSigner(key, library: nil)
        #expect(fast.implementation.hasPrefix("OpenSSL 3."))
        #expect(slow.implementation == "swift-crypto")
        for length in [0, 1, 63, 64, 65, 500, 8192] {
            let message = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ bits) }
            let signature = try await fast.sign(message).bytes
            let expected = try await slow.sign(message).bytes
            #expect(signature == expected)
            #expect(signature.count == bits / 8)
        }
    }

    @Test func `a key in the older PEM form signs the same`() async throws {
        let new = try TestKeys.driver.get()
        let old = try ServiceAccountKey(
            pem: new.privateKey.pemRepresentation, account: new.account, keyID: new.keyID)
        let message = Array("older".utf8)
        let fast = try LocalSigner(old)
        #expect(fast.implementation.hasPrefix("OpenSSL 3."))
        let signature = try await fast.sign(message).bytes
        let expected = try await LocalSigner(new, library: nil).sign(message).bytes
        #expect(signature == expected)
    }

    @Test func `many callers share a key`() async throws {
        let key = try TestKeys.driver.get()
        let (fast, slow) = (try LocalSigner(key), try LocalSigner(key, library: nil))
        var expected: [[UInt8]] = []
        for number in 0..<16 { expected.append(try await slow.sign([UInt8(number)]).bytes) }
        let wanted = expected
        // Threads of their own, so that they are many at once whatever the number of cores.
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            let group = DispatchGroup()
            for thread in 0..<16 {
                group.enter()
                Thread.detachNewThread {
                    for round in 0..<64 {
                        let number = (thread + round) % 16
                        let digest = SHA256.hash(data: [UInt8(number)])
                        #expect(fast.fastKey?.signature(for: digest) == wanted[number])
                    }
                    group.leave()
                }
            }
            group.notify(queue: .global()) { done.resume() }
        }
    }

    @Test func `keys come and go`() async throws {
        let library = try #require(OpenSSLLibrary.installed)
        let key = try TestKeys.driver.get().privateKey
        let digest = SHA256.hash(data: Array("gone".utf8))
        let first = OpenSSLKey(key, library: library)?.signature(for: digest)
        for _ in 0..<100 {
            #expect(try #require(OpenSSLKey(key, library: library)).signature(for: digest) == first)
        }
        #expect(first != nil)
    }

    @Test func `printing a signer shows no key`() throws {
        let key = try TestKeys.driver.get()
        let signer = try LocalSigner(key)
        var dumped = "\(signer) "
        dump(signer, to: &dumped)
        let secret = key.privateKey.pemRepresentation.split(separator: "\n")[1]
        #expect(!dumped.contains(secret))
    }

    @Test func `printing what was signed shows its fingerprint and nothing else`() async throws {
        let signed = try await LocalSigner(try TestKeys.driver.get()).sign(payload: Array("{}".utf8))
        var dumped = ""
        dump(signed, to: &dumped)
        for print in ["\(signed)", String(reflecting: signed), dumped] {
            #expect(print.contains(signed.token.fingerprint))
            #expect(!print.contains("signature") && !print.contains("\(UInt8(ascii: "{")), "))
        }
    }

    /// A library whose every signature is wrong, to see that it is found out.
    @Test func `a library that signs something else is not used`() async throws {
        var library = try #require(OpenSSLLibrary.installed)
        library.sign = { _, bytes, count, _, _ in
            for index in 0..<count.pointee { bytes[index] = 1 }
            return 1
        }
        let signer = try LocalSigner(TestKeys.driver.get(), library: library)
        #expect(signer.implementation == "swift-crypto")
    }

    @Test func `a library that fails is not used`() async throws {
        var library = try #require(OpenSSLLibrary.installed)
        library.sign = { _, _, _, _, _ in 0 }
        let signer = try LocalSigner(TestKeys.driver.get(), library: library)
        #expect(signer.implementation == "swift-crypto")
        let message = Array("still signed".utf8)
        let signature = try await signer.sign(message).bytes
        #expect(signer.publicKey?.isValidSignature(signature, for: message) == true)
    }
}

/// What holds without OpenSSL.
@Suite struct OpenSSLAbsenceTests {
    @Test func `without the library, or with another, swift-crypto signs`() async throws {
        #expect(OpenSSLLibrary(named: "libfleetpass-has-no-such-library.so.3") == nil)
        #expect(OpenSSLLibrary(named: "libc.so.6") == nil)
        let key = try TestKeys.driver.get()
        let signer = try LocalSigner(key, library: nil)
        #expect(signer.implementation == "swift-crypto")
        let message = Array("message".utf8)
        let signature = try await signer.sign(message).bytes
        #expect(signer.publicKey?.isValidSignature(signature, for: message) == true)
    }
}
