// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

extension Collection<UInt8> {
    /// The SHA-256 of the bytes in hexadecimal.
    package var sha256Hex: String { SHA256.hash(self).hexadecimal }
}

extension Array<UInt8> {
    /// The bytes of a text of hexadecimal digits, two for each; `nil` for any other text.
    package init?(hexadecimal text: some StringProtocol) {
        let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        self = stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}

extension Sequence<UInt8> {
    /// Two lower-case hexadecimal digits for each byte.
    @inlinable package var hexadecimal: String {
        func digit(_ value: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10 }
        var text: [UInt8] = []
        text.reserveCapacity(64)
        for byte in self {
            text.append(digit(byte >> 4))
            text.append(digit(byte & 0xF))
        }
        return String(decoding: text, as: UTF8.self)
    }
}
