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

    /// Where a text begins an anchor, by which a small text can unfold to a very large one.
    ///
    /// - Parameter yaml: The text, which is not parsed; a word in quotes or a comment that begins with `&` counts too.
    /// - Returns: The place of the first: its line and column, from 1; `nil` where there is none.
    package static func placeOfAnchor(in yaml: String) -> (line: Int, column: Int)? {
        var (line, column) = (1, 0)
        var previous = UInt8(ascii: "\n")
        for byte in yaml.utf8.dropFirst(yaml.utf8.starts(with: "\u{FEFF}".utf8) ? 3 : 0) {
            if previous == UInt8(ascii: "&"), byte > 0x20 { return (line, column) }
            let begins = previous <= 0x20 || "[{,:".utf8.contains(previous)
            (line, column) = byte == UInt8(ascii: "\n") ? (line + 1, 0) : (line, column + 1)
            // Inside a word it is a character like any other.
            previous = byte == UInt8(ascii: "&") && !begins ? UInt8(ascii: "x") : byte
        }
        return nil
    }
}
