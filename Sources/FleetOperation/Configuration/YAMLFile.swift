// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Yams

/// The one way in which files of YAML are parsed, whatever they are for.
package enum YAMLFile {
    /// The most bytes that a file may have.
    package static let maximumBytes = 256 * 1024

    /// Parses a file's text.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - limit: The most bytes that it may have.
    /// - Returns: The root; `nil` for a file without anything in it.
    /// - Throws: ``YAMLProblem``.
    static func compose(_ text: String, atMost limit: Int = Self.maximumBytes) throws(YAMLProblem) -> Node? {
        guard text.utf8.count <= limit else { throw .tooLong(limit: limit) }
        if let place = self.placeOfAnchor(in: text) { throw .anchor(at: place) }
        do {
            return try Yams.compose(yaml: text)
        } catch {
            switch error as? YamlError {
            case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
                .composer(_, let problem, let mark, _):
                throw .unreadable(problem, at: YAMLProblem.Place(mark))
            case .duplicatedKeysInMapping(let keys, let context):
                throw .repeatedKeys(keys.sorted(), at: YAMLProblem.Place(context.mark))
            default: throw .unreadable(nil, at: nil)
            }
        }
    }

    /// What ends a line for the parser.
    private static let breaks: Set<Unicode.Scalar> = ["\n", "\r", "\u{85}", "\u{2028}", "\u{2029}"]
    /// What ends a word, or begins a key, so that an anchor can follow without a blank.
    private static let indicators: Set<Unicode.Scalar> = ["[", "{", ",", ":", "?"]

    /// Where a text begins an anchor, by which a small text can unfold to a very large one.
    ///
    /// - Parameter yaml: The text, which is not parsed; a word in quotes or a comment that begins with `&` counts too.
    /// - Returns: The place of the first; `nil` where there is none.
    private static func placeOfAnchor(in yaml: String) -> YAMLProblem.Place? {
        var (line, column) = (1, 0)
        var previous: Unicode.Scalar = "\n"
        for scalar in yaml.unicodeScalars {
            if previous == "&", scalar > " " { return YAMLProblem.Place(line: line, column: column) }
            // The parser passes over a byte order mark at the beginning of any line.
            if scalar == "\u{FEFF}", column == 0 { continue }
            let begins = previous <= " " || Self.indicators.contains(previous) || Self.breaks.contains(previous)
            if Self.breaks.contains(scalar) {
                line += previous == "\r" && scalar == "\n" ? 0 : 1
                column = 0
            } else {
                column += 1
            }
            // Inside a word it is a character like any other.
            previous = (scalar == "&" || scalar == "?") && !begins ? "x" : scalar
        }
        return nil
    }
}

extension YAMLProblem.Place {
    fileprivate init(_ mark: Mark) {
        self.init(line: mark.line, column: mark.column)
    }
}
