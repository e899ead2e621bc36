// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Tokens within a text, such as one that somebody sent in place of an id.
enum WrittenTokens {
    private static let dot = UInt8(ascii: ".")

    /// Puts its fingerprint in the place of each token, in one pass however long the text is.
    ///
    /// - Parameter text: The text, in UTF-8.
    /// - Returns: The text with `token-` and a fingerprint where a token was.
    static func replaced(in text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var copied = 0
        var place = 0
        while place < text.count {
            let end = self.endOfPart(text, from: place)
            guard let tokenEnd = self.endOfToken(text, header: end),
                let begin = self.beginOfToken(text, in: place..<end)
            else {
                // What parts two words is no part of a token.
                place = end + 1
                continue
            }
            let token = FleetToken(String(decoding: text[begin..<tokenEnd], as: UTF8.self))
            result += text[copied..<begin] + "token-\(token.fingerprint)".utf8
            copied = tokenEnd
            place = tokenEnd
        }
        return copied == 0 ? text : result + text[copied...]
    }

    /// Where the run of Base64URL's characters ends that begins at a place.
    private static func endOfPart(_ text: [UInt8], from place: Int) -> Int {
        text[place...].firstIndex { !Base64URL.isCharacter($0) } ?? text.count
    }

    /// Where a token's header first begins in such a run, which may have other characters before it.
    private static func beginOfToken(_ text: [UInt8], in part: Range<Int>) -> Int? {
        (0..<4).compactMap { self.beginOfHeader(text, in: part.dropFirst($0)) }.min()
    }

    /// Where a token's header first begins that goes to the end of a run, which is read from its first character on.
    ///
    /// A header begins with `{` and `"`, and what white space JSON permits before and between, is text in UTF-8, and ends
    /// with `}`. Four characters are three bytes, so that it begins every four characters or not at all.
    private static func beginOfHeader(_ text: [UInt8], in part: Range<Int>) -> Int? {
        guard let bytes = Base64URL.decode(text[part]), bytes.last(where: { !self.isBlank($0) }) == UInt8(ascii: "}")
        else { return nil }
        let beginOfText = self.beginOfText(bytes)
        var (begin, blanks): (Int?, Int?)
        for (index, byte) in bytes.enumerated().dropFirst(beginOfText) {
            let start = index.isMultiple(of: 3) ? index : nil
            switch byte {
            case _ where self.isBlank(byte): blanks = blanks ?? start
            case UInt8(ascii: "{"): (begin, blanks) = (blanks ?? start, nil)
            case UInt8(ascii: "\""):
                if let begin { return part.lowerBound + begin / 3 * 4 }
                blanks = nil
            default: (begin, blanks) = (nil, nil)
            }
        }
        return nil
    }

    private static func isBlank(_ byte: UInt8) -> Bool { " \t\r\n".utf8.contains(byte) }

    /// From where on bytes are UTF-8.
    private static func beginOfText(_ bytes: [UInt8]) -> Int {
        var parser = Unicode.UTF8.ForwardParser()
        var rest = bytes.makeIterator()
        var (place, begin) = (0, 0)
        while true {
            switch parser.parseScalar(from: &rest) {
            case .valid(let scalar): place += scalar.count
            case .error(let length):
                place += length
                begin = place
            case .emptyInput: return begin
            }
        }
    }

    /// Where the token ends whose header ends at a place: after two more parts that are not empty.
    private static func endOfToken(_ text: [UInt8], header: Int) -> Int? {
        var end = header
        for _ in 0..<2 {
            guard end < text.count, text[end] == self.dot else { return nil }
            let next = self.endOfPart(text, from: end + 1)
            guard next > end + 1 else { return nil }
            end = next
        }
        return end
    }
}
