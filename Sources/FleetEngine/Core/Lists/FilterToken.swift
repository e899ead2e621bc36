// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A word or sign of a filter.
enum FilterToken: Hashable {
    case word(String)
    case text(String)
    /// A name whose last part is quoted, such as `attributes."rear door"`, without the marks.
    case name(String)
    case comparison(ResourceFilter.Comparison)
    case open
    case close
    case minus

    /// Takes a filter apart, scalar by scalar: a character may be a sign together with the accent behind it, or the two
    /// that end a line.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    static func tokens(_ text: String) throws(EngineError) -> ArraySlice<Self> {
        var tokens: [Self] = []
        var rest = text.unicodeScalars[...]
        while let scalar = rest.first {
            switch scalar {
            case " ", "\t", "\n", "\r": rest.removeFirst()
            case "(": tokens.append(.open); rest.removeFirst()
            case ")": tokens.append(.close); rest.removeFirst()
            case "-": tokens.append(.minus); rest.removeFirst()
            case "=", "!", "<", ">":
                let sign = String(rest.prefix(rest.dropFirst().first == "=" && scalar != "=" ? 2 : 1))
                guard let comparison = ResourceFilter.Comparison(rawValue: sign) else {
                    throw ResourceFilter.invalid("has a single \(sign)")
                }
                tokens.append(.comparison(comparison))
                rest = rest.dropFirst(sign.count)
            case "\"", "'":
                rest.removeFirst()
                tokens.append(.text(try Self.quoted(&rest, by: scalar)))
            default:
                let word = rest.prefix { !" \t\n\r()=!<>\"'".unicodeScalars.contains($0) }
                rest = rest.dropFirst(word.count)
                if word.last == ".", let quote = rest.first, quote == "\"" || quote == "'" {
                    rest.removeFirst()
                    tokens.append(.name(String(word) + (try Self.quoted(&rest, by: quote))))
                } else {
                    tokens.append(.word(String(word)))
                }
            }
        }
        return tokens[...]
    }

    private static func quoted(
        _ rest: inout Substring.UnicodeScalarView, by quote: Unicode.Scalar
    ) throws(EngineError) -> String {
        var text = String.UnicodeScalarView()
        while let scalar = rest.popFirst() {
            if scalar == quote { return String(text) }
            if scalar == "\\", let next = rest.popFirst() { text.append(next) } else { text.append(scalar) }
        }
        throw ResourceFilter.invalid("has a quotation that does not end")
    }
}
