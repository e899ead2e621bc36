// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// SHA-256 (FIPS 180-4), for fingerprints on every platform without a package.
///
/// It is not used where a secret is involved or speed matters: signing and verification use swift-crypto.
enum SHA256 {
    private static let constants: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ]

    private static let start: SIMD8<UInt32> = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]
    private static let blockBytes = 64

    /// The 32 bytes of the digest.
    static func hash(_ message: some Collection<UInt8>) -> [UInt8] {
        message.withContiguousStorageIfAvailable { self.hash($0) }
            ?? Array(message).withUnsafeBufferPointer { self.hash($0) }
    }

    private static func hash(_ message: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        let whole = message.count - message.count % self.blockBytes
        var end = Array(message[whole...])
        end.append(0x80)
        // The last block ends with the count of bits in eight bytes.
        end += [UInt8](repeating: 0, count: (120 - end.count) % self.blockBytes)
        let bitCount = UInt64(message.count) * 8
        for shift in stride(from: 56, through: 0, by: -8) { end.append(UInt8(truncatingIfNeeded: bitCount >> shift)) }

        var state = self.start
        self.constants.withUnsafeBufferPointer { constants in
            withUnsafeTemporaryAllocation(of: UInt32.self, capacity: self.blockBytes) { words in
                func take(_ bytes: UnsafeBufferPointer<UInt8>) {
                    for start in stride(from: 0, to: bytes.count, by: self.blockBytes) {
                        let block = UnsafeBufferPointer(rebasing: bytes[start..<start + self.blockBytes])
                        self.schedule(block, into: words)
                        state &+= self.rounds(words, constants, from: state)
                    }
                }
                take(UnsafeBufferPointer(rebasing: message[..<whole]))
                end.withUnsafeBufferPointer(take)
            }
        }
        return [UInt8](unsafeUninitializedCapacity: 32) { digest, count in
            for index in 0..<8 {
                for shift in stride(from: 24, through: 0, by: -8) {
                    digest.initializeElement(at: count, to: UInt8(truncatingIfNeeded: state[index] >> shift))
                    count += 1
                }
            }
        }
    }

    private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }

    /// The 64 words that the rounds take in, made from the 64 bytes of a block.
    private static func schedule(_ block: UnsafeBufferPointer<UInt8>, into words: UnsafeMutableBufferPointer<UInt32>) {
        let block = UnsafeRawBufferPointer(block)
        for index in 0..<16 {
            let word = block.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self)
            words.initializeElement(at: index, to: UInt32(bigEndian: word))
        }
        for index in 16..<64 {
            let (early, late) = (words[index - 15], words[index - 2])
            let first = self.rotate(early, 7) ^ self.rotate(early, 18) ^ early >> 3
            let second = self.rotate(late, 17) ^ self.rotate(late, 19) ^ late >> 10
            words.initializeElement(at: index, to: words[index - 16] &+ first &+ words[index - 7] &+ second)
        }
    }

    private static func rounds(
        _ words: UnsafeMutableBufferPointer<UInt32>, _ constants: UnsafeBufferPointer<UInt32>,
        from state: SIMD8<UInt32>
    ) -> SIMD8<UInt32> {
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        // After eight rounds each value is back in its place, so none is moved.
        for index in stride(from: 0, to: 64, by: 8) {
            self.round(a, b, c, &d, e, f, g, &h, constants[index] &+ words[index])
            self.round(h, a, b, &c, d, e, f, &g, constants[index + 1] &+ words[index + 1])
            self.round(g, h, a, &b, c, d, e, &f, constants[index + 2] &+ words[index + 2])
            self.round(f, g, h, &a, b, c, d, &e, constants[index + 3] &+ words[index + 3])
            self.round(e, f, g, &h, a, b, c, &d, constants[index + 4] &+ words[index + 4])
            self.round(d, e, f, &g, h, a, b, &c, constants[index + 5] &+ words[index + 5])
            self.round(c, d, e, &f, g, h, a, &b, constants[index + 6] &+ words[index + 6])
            self.round(b, c, d, &e, f, g, h, &a, constants[index + 7] &+ words[index + 7])
        }
        return [a, b, c, d, e, f, g, h]
    }

    /// One round, which changes the fourth value and the last; the others only change their places.
    @inline(__always)
    private static func round(
        _ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: inout UInt32, _ e: UInt32, _ f: UInt32, _ g: UInt32,
        _ h: inout UInt32, _ input: UInt32
    ) {
        let sum1 = self.rotate(e, 6) ^ self.rotate(e, 11) ^ self.rotate(e, 25)
        let step = h &+ sum1 &+ (g ^ (e & (f ^ g))) &+ input
        let sum0 = self.rotate(a, 2) ^ self.rotate(a, 13) ^ self.rotate(a, 22)
        d &+= step
        h = step &+ sum0 &+ ((a & b) | (c & (a | b)))
    }
}
