// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// The percent-encoding of URLs.
package enum PercentCoding {
    /// Encodes everything but RFC 3986's unreserved characters, so that a text is one path segment or one query value
    /// whatever it holds.
    package static func encode(_ text: some StringProtocol) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                encoded += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }

    /// Decodes, strictly, a part of a URL that was already split off.
    ///
    /// - Parameters:
    ///   - text: The part.
    ///   - plusIsSpace: Whether `+` stands for a space, as in queries.
    /// - Returns: The text, or `nil` when an escape is broken, the bytes are not UTF-8, or marks follow one another without
    ///   end.
    package static func decode(_ text: Substring, plusIsSpace: Bool = false) -> String? {
        let isPlain = { (byte: UInt8) in byte != UInt8(ascii: "%") && !(plusIsSpace && byte == UInt8(ascii: "+")) }
        if text.utf8.allSatisfy(isPlain) { return Self.comparable(String(text)) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(self.digit), let low = rest.popFirst().flatMap(self.digit)
                else { return nil }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        let decoded = String(decoding: bytes, as: UTF8.self)
        // What is no UTF-8 would be read with other characters than it has.
        return decoded.utf8.elementsEqual(bytes) ? Self.comparable(decoded) : nil
    }

    private static func comparable(_ text: String) -> String? { text.hasEndlessMarks ? nil : text }

    private static func digit(_ byte: UInt8) -> UInt8? {
        Character(Unicode.Scalar(byte)).hexDigitValue.map(UInt8.init)
    }
}
