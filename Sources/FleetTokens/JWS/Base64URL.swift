// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// The strict base64url of compact JWS (RFC 7515 §2): no padding, no white space, canonical last character.
package enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    /// What each byte is worth as the first, second, third and fourth of four characters, one table after the other; the
    /// highest bit tells that it is none.
    private static let values: [UInt32] = {
        var tables = [UInt32](repeating: 1 << 31, count: 4 * 256)
        for (value, character) in alphabet.enumerated() {
            for place in 0..<4 { tables[place * 256 + Int(character)] = UInt32(value) << (18 - 6 * UInt32(place)) }
        }
        return tables
    }()

    /// Whether a byte is one of the 64 characters.
    package static func isCharacter(_ byte: UInt8) -> Bool { self.values[Int(byte)] >> 31 == 0 }

    /// The text for some bytes, as ASCII.
    package static func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
        bytes.withContiguousStorageIfAvailable { self.encode($0) }
            ?? Array(bytes).withUnsafeBufferPointer { self.encode($0) }
    }

    private static func encode(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        self.alphabet.withUnsafeBufferPointer { alphabet in
            [UInt8](unsafeUninitializedCapacity: (bytes.count * 4 + 2) / 3) { text, count in
                func write(_ characters: Int, of word: UInt32) {
                    for character in 0..<characters {
                        text[count + character] = alphabet[Int(word >> (18 - 6 * UInt32(character)) & 0x3F)]
                    }
                    count += characters
                }
                var position = 0
                // Three bytes are four characters.
                while position + 3 <= bytes.count {
                    let high = UInt32(bytes[position]) << 16 | UInt32(bytes[position + 1]) << 8
                    write(4, of: high | UInt32(bytes[position + 2]))
                    position += 3
                }
                guard position < bytes.count else { return }
                let last = position + 1 < bytes.count ? UInt32(bytes[position + 1]) << 8 : 0
                write(bytes.count - position + 1, of: UInt32(bytes[position]) << 16 | last)
            }
        }
    }

    /// The bytes of a text, or `nil` when the text is not exactly what ``encode(_:)`` writes.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        text.withContiguousStorageIfAvailable { self.decode($0) }
            ?? Array(text).withUnsafeBufferPointer { self.decode($0) }
    }

    private static func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        return self.values.withUnsafeBufferPointer { values in
            // An unknown character sets the highest bit.
            var seen: UInt32 = 0
            var rest: UInt32 = 0
            var bits: UInt32 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: text.count * 3 / 4) { output, count in
                var position = 0
                // Four characters are three bytes.
                while position + 4 <= text.count {
                    let word =
                        values[Int(text[position])] | values[0x100 + Int(text[position + 1])]
                        | values[0x200 + Int(text[position + 2])] | values[0x300 + Int(text[position + 3])]
                    seen |= word
                    output[count] = UInt8(truncatingIfNeeded: word >> 16)
                    output[count + 1] = UInt8(truncatingIfNeeded: word >> 8)
                    output[count + 2] = UInt8(truncatingIfNeeded: word)
                    position += 4
                    count += 3
                }
                for character in text[position...] {
                    let value = values[0x300 + Int(character)]
                    seen |= value
                    rest = rest << 6 | value & 0x3F
                    bits += 6
                }
                while bits >= 8 {
                    bits -= 8
                    output[count] = UInt8(truncatingIfNeeded: rest >> bits)
                    count += 1
                }
            }
            // Bits left over from the last character must be zero, or two texts would mean the same bytes.
            return seen >> 31 == 0 && rest & (1 << bits - 1) == 0 ? bytes : nil
        }
    }
}
