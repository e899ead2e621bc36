// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Tokens within a text, such as one that somebody sent in place of an id.
enum WrittenTokens {
    /// Every header of a token begins so: `{"` in Base64URL.
    private static let begin = Array("eyJ".utf8)
    private static let dot = UInt8(ascii: ".")

    /// Puts its fingerprint in the place of each token, in one pass however long the text is.
    ///
    /// - Parameter text: The text, in UTF-8.
    /// - Returns: The text with `token-` and a fingerprint where a token was.
    static func replaced(in text: [UInt8]) -> [UInt8] {
        guard text.firstRange(of: self.begin) != nil else { return text }
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var place = 0
        while place < text.count {
            let end = self.endOfPart(text, from: place)
            if let begin = self.beginOfToken(text, in: place..<end), let tokenEnd = self.endOfToken(text, header: end) {
                let token = FleetToken(String(decoding: text[begin..<tokenEnd], as: UTF8.self))
                result += text[place..<begin] + "token-\(token.fingerprint)".utf8
                place = tokenEnd
            } else {
                // What parts two words is no part of a token.
                let next = min(end + 1, text.count)
                result += text[place..<next]
                place = next
            }
        }
        return result
    }

    /// Where the run of Base64URL's characters ends that begins at a place.
    private static func endOfPart(_ text: [UInt8], from place: Int) -> Int {
        text[place...].firstIndex { !Base64URL.isCharacter($0) } ?? text.count
    }

    /// Where a token's header begins in such a run, of which something must follow.
    private static func beginOfToken(_ text: [UInt8], in part: Range<Int>) -> Int? {
        text[part].firstRange(of: self.begin).flatMap { $0.upperBound < part.upperBound ? $0.lowerBound : nil }
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
