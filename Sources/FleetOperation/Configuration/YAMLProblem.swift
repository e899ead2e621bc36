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
    /// What was marked is repeated, by which a small text can unfold to a very large one.
    case alias(at: Place)
    /// A key stands here, and once more in the same mapping.
    case repeatedKey(String, at: Place)
    /// The text is not YAML, with what the parser says of it.
    case unreadable(String?, at: Place?)

    /// Where it is; `nil` where it is the whole file, or not known.
    package var place: Place? {
        switch self {
        case .tooLong: nil
        case .alias(let place), .repeatedKey(_, let place): place
        case .unreadable(_, let place): place
        }
    }

    /// What it is, as the end of a sentence without its full stop.
    package var words: String {
        switch self {
        case .tooLong(let limit): "the file has more than \(limit) bytes"
        case .alias: "\"*\" repeats what \"&\" marks, and aliases are not read; write the value out"
        case .repeatedKey(let key, _): "the key \(key.shown(upTo: 64)) stands here and once more below"
        case .unreadable(let problem, _): "the YAML cannot be read\(problem.map { ": \($0)" } ?? "")"
        }
    }
}
