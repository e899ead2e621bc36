// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Yams

/// What keeps YAML from being read, without its values: a text that somebody named may be anything, a private key too.
package enum YAMLProblem {
    /// Why a text is not YAML.
    ///
    /// - Parameter error: What the parser threw.
    /// - Returns: The line and the problem, or the keys that stand twice.
    package static func words(for error: any Error) -> String {
        switch error as? YamlError {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            "line \(mark.line), \(problem)"
        case .duplicatedKeysInMapping(let duplicates, _):
            "these keys stand twice: \(duplicates.map { $0.shown(upTo: 64) }.joined(separator: ", "))"
        default: "it cannot be read"
        }
    }

    /// What ends a line for the parser.
    private static let breaks: Set<Unicode.Scalar> = ["\n", "\r", "\u{85}", "\u{2028}", "\u{2029}"]
    /// What ends a word, or begins a key, so that an anchor can follow without a blank.
    private static let indicators: Set<Unicode.Scalar> = ["[", "{", ",", ":", "?"]

    /// Where a text begins an anchor, by which a small text can unfold to a very large one.
    ///
    /// - Parameter yaml: The text, which is not parsed; a word in quotes or a comment that begins with `&` counts too.
    /// - Returns: The place of the first: its line and column, from 1; `nil` where there is none.
    package static func placeOfAnchor(in yaml: String) -> (line: Int, column: Int)? {
        var (line, column) = (1, 0)
        var previous: Unicode.Scalar = "\n"
        for scalar in yaml.unicodeScalars {
            if previous == "&", scalar > " " { return (line, column) }
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
