// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// What keeps a file of YAML from being read, without its values: a text that somebody named may be anything, a private
/// key too.
package enum YAMLProblem: Error {
    /// A place in a text; both count from 1.
    package struct Place: Sendable {
        package let line: Int
        package let column: Int
    }

    /// The file has more bytes than it may.
    case tooLong(limit: Int)
    /// An anchor begins, by which a small text can unfold to a very large one.
    case anchor(at: Place)
    /// Keys stand twice in one mapping.
    case repeatedKeys([String], at: Place)
    /// The text is not YAML, with what the parser says of it.
    case unreadable(String?, at: Place?)

    /// Where it is; `nil` where it is the whole file, or not known.
    package var place: Place? {
        switch self {
        case .tooLong: nil
        case .anchor(let place), .repeatedKeys(_, let place): place
        case .unreadable(_, let place): place
        }
    }

    /// What it is, as the end of a sentence without its full stop.
    package var words: String {
        switch self {
        case .tooLong(let limit): "the file has more than \(limit) bytes"
        case .anchor: "\"&\" begins an anchor, and anchors are not read; write the value out"
        case .repeatedKeys(let keys, _):
            "these keys stand twice: \(keys.map { $0.shown(upTo: 64) }.joined(separator: ", "))"
        case .unreadable(let problem, _): "the YAML cannot be read\(problem.map { ": \($0)" } ?? "")"
        }
    }
}
