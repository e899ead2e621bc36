// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import FleetTokens
import Foundation
import SwiftASN1

/// An RSA private key in the hands of Intel's multi-buffer library, which makes up to eight signatures in one call.
///
/// `@unchecked`: the numbers are set once and only read afterwards; the buffers are handed out one to a call under `idle`.
final class MultiBufferKey: @unchecked Sendable {
    /// What a call computes in; good for any number of them, one at a time.
    private struct Buffer: @unchecked Sendable {
        let bytes: UnsafeMutableRawBufferPointer
    }

    let library: MultiBufferLibrary
    private let method: MultiBufferLibrary.Method
    private let bits: Int
    private let bufferBytes: Int
    /// The primes, the exponents for each and the coefficient, one behind the other.
    private let numbers: UnsafeMutableBufferPointer<UInt64>
    /// For each number, the pointer to it that each lane takes.
    private let lanes: UnsafeMutableBufferPointer<UnsafePointer<UInt64>?>
    private let erase: OpenSSLLibrary.Erase
    private let idle = Locked<[Buffer]>([])

    /// Copies a key; `nil` where the library is not for keys of its kind.
    ///
    /// - Parameters:
    ///   - key: A key of 2048, 3072 or 4096 bits with two primes of half as many, the greater one first, as is usual.
    ///   - library: Makes the signatures.
    ///   - erase: Overwrites what was secret.
    init?(_ key: _RSA.Signing.PrivateKey, library: MultiBufferLibrary, erase: OpenSSLLibrary.Erase) {
        let bits = key.keySizeInBits
        guard [2048, 3072, 4096].contains(bits), let method = library.findMethod(CInt(bits)) else { return nil }
        let words = bits / 2 / UInt64.bitWidth
        let numbers = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: Self.numbers * words)
        numbers.initialize(repeating: 0)
        guard Self.read(key, into: numbers, words: words, erase: erase) else {
            erase(numbers.baseAddress, numbers.count * MemoryLayout<UInt64>.size)
            numbers.deallocate()
            return nil
        }
        self.lanes = .allocate(capacity: Self.numbers * MultiBufferLibrary.lanes)
        for place in self.lanes.indices {
            let number = numbers.baseAddress.map { $0 + place / MultiBufferLibrary.lanes * words }
            self.lanes.initializeElement(at: place, to: UnsafePointer(number))
        }
        (self.library, self.method, self.bits, self.numbers, self.erase) = (library, method, bits, numbers, erase)
        self.bufferBytes = Int(library.sizeOfBuffer(method))
    }

    deinit {
        for buffer in self.idle.withLock({ $0 }) {
            self.erase(buffer.bytes.baseAddress, buffer.bytes.count)
            buffer.bytes.deallocate()
        }
        self.erase(self.numbers.baseAddress, self.numbers.count * MemoryLayout<UInt64>.size)
        self.numbers.deallocate()
        self.lanes.deallocate()
    }

    /// Signs digests with RSASSA-PKCS1-v1_5, eight at most; `nil` where the library could not sign all.
    func signatures(for digests: [SHA256Digest]) -> [[UInt8]]? {
        let (width, length) = (MultiBufferLibrary.lanes, self.bits / 8)
        guard (1...width).contains(digests.count), let last = digests.last, let numbers = self.lanes.baseAddress else {
            return nil
        }
        let buffer = self.idle.withLock { $0.popLast() } ?? self.makeBuffer()
        defer { self.idle.withLock { $0.append(buffer) } }
        guard let scratch = buffer.bytes.baseAddress else { return nil }
        // Lanes without a digest of their own sign the last once more.
        var messages: [UInt8] = []
        messages.reserveCapacity(width * length)
        for lane in 0..<width {
            Self.encode(lane < digests.count ? digests[lane] : last, length: length, to: &messages)
        }
        var status: MultiBufferLibrary.Status = 0
        let signatures = [UInt8](unsafeUninitializedCapacity: width * length) { bytes, initialized in
            messages.withUnsafeBufferPointer { messages in
                let from = (0..<width).map { lane in messages.baseAddress.map { $0 + lane * length } }
                let to = (0..<width).map { lane in bytes.baseAddress.map { $0 + lane * length } }
                status = self.library.sign(
                    from, to, numbers, numbers + width, numbers + 2 * width, numbers + 3 * width, numbers + 4 * width,
                    CInt(self.bits), self.method, scratch)
            }
            initialized = status == 0 ? width * length : 0
        }
        guard status == 0 else { return nil }
        return digests.indices.map { Array(signatures[$0 * length..<($0 + 1) * length]) }
    }

    private func makeBuffer() -> Buffer {
        Buffer(bytes: .allocate(byteCount: self.bufferBytes, alignment: 64))
    }

    // MARK: - Encoding

    /// `DigestInfo` of SHA-256 up to the digest (RFC 8017 §9.2, note 1).
    private static let digestInfo: [UInt8] = [
        0x30, 0x31, 0x30, 0x0D, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04,
        0x20,
    ]

    /// Appends what RSASSA-PKCS1-v1_5 takes to the power for a digest (RFC 8017 §9.2).
    private static func encode(_ digest: SHA256Digest, length: Int, to messages: inout [UInt8]) {
        let padding = length - 3 - self.digestInfo.count - SHA256Digest.byteCount
        messages += [0x00, 0x01]
        messages.append(contentsOf: repeatElement(0xFF, count: padding))
        messages.append(0x00)
        messages += self.digestInfo
        messages += digest
    }

    // MARK: - Reading

    /// How many numbers a private key has for the Chinese remainder theorem.
    private static let numbers = 5

    /// Reads the numbers of a key (RSAPrivateKey, RFC 8017 §A.1.2).
    ///
    /// - Returns: Whether each fits its place, and the first prime is the greater one.
    private static func read(
        _ key: _RSA.Signing.PrivateKey, into numbers: UnsafeMutableBufferPointer<UInt64>, words: Int,
        erase: OpenSSLLibrary.Erase
    ) -> Bool {
        var data = key.derRepresentation
        var der = Array(data)
        defer {
            der.withUnsafeMutableBytes { erase($0.baseAddress, $0.count) }
            data.withUnsafeMutableBytes { erase($0.baseAddress, $0.count) }
        }
        return self.read(der, into: numbers, words: words)
    }

    private static func read(
        _ der: [UInt8], into numbers: UnsafeMutableBufferPointer<UInt64>, words: Int
    ) -> Bool {
        guard let root = try? DER.parse(der), case .constructed(let nodes) = root.content else { return false }
        // Before them come the version, the modulus and both exponents.
        let secrets = Array(nodes.dropFirst(4))
        guard secrets.count == self.numbers else { return false }
        for (number, node) in secrets.enumerated() {
            guard case .primitive(let content) = node.content else { return false }
            let bytes = content.drop { $0 == 0 }
            guard bytes.count <= words * 8 else { return false }
            for (place, byte) in bytes.reversed().enumerated() {
                numbers[number * words + place / 8] |= UInt64(byte) << (8 * UInt64(place % 8))
            }
        }
        let (first, second) = (numbers[..<words], numbers[words..<2 * words])
        return second.reversed().lexicographicallyPrecedes(first.reversed())
    }
}
