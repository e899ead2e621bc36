// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Looks for the end of what JSON writes as it stands: text without quotation marks, backslashes and control characters.
///
/// That is almost every text, so it is looked at 8 bytes at a time.
enum PlainText {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = ones << 7

    /// Where plain text that begins at a position ends, and whether all of it is ASCII.
    static func find(in bytes: UnsafeRawBufferPointer, from start: Int) -> (end: Int, isASCII: Bool) {
        var end = start
        var seen: UInt64 = 0
        while end + 8 <= bytes.count {
            // The first byte is the lowest.
            let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: end, as: UInt64.self))
            let length = self.plainBytes(in: word)
            guard length == 8 else {
                seen |= word & (1 << (8 * UInt64(length)) - 1)
                return (end + length, seen & self.highBits == 0)
            }
            seen |= word
            end += 8
        }
        while end < bytes.count, self.plainBytes(in: UInt64(bytes[end])) > 0 {
            seen |= UInt64(bytes[end])
            end += 1
        }
        return (end, seen & self.highBits == 0)
    }

    /// How many of eight bytes, from the lowest on, are plain.
    private static func plainBytes(in word: UInt64) -> Int {
        // The high bit of the lowest byte below a limit, if any is; what is borrowed disturbs higher bytes only.
        func below(_ limit: UInt8, _ word: UInt64) -> UInt64 { (word &- self.ones &* UInt64(limit)) & ~word }
        func equal(_ byte: UInt8, _ word: UInt64) -> UInt64 { below(1, word ^ self.ones &* UInt64(byte)) }
        let special = below(0x20, word) | equal(UInt8(ascii: "\""), word) | equal(UInt8(ascii: "\\"), word)
        return (special & self.highBits).trailingZeroBitCount / 8
    }
}
