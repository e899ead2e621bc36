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
        if let place = self.placeOfAlias(in: text) { throw .alias(at: place) }
        do {
            return try Yams.compose(yaml: text)
        } catch {
            switch error as? YamlError {
            case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
                .composer(_, let problem, let mark, _):
                throw .unreadable(problem, at: YAMLProblem.Place(mark))
            case .duplicatedKeysInMapping(let keys, let context):
                // The mark is where the first of the keys stands first.
                throw .repeatedKey(keys.first ?? "", at: YAMLProblem.Place(context.mark))
            default: throw .unreadable(nil, at: nil)
            }
        }
    }

    /// Where a text repeats what it marked, by which a small text can unfold to a very large one.
    ///
    /// - Parameter yaml: The text, which is not parsed: `&name` and `*name` count in quotes and comments too.
    /// - Returns: The place of the first `*name` for which there is a `&name`; `nil` where there is none.
    private static func placeOfAlias(in yaml: String) -> YAMLProblem.Place? {
        let scalars = yaml.unicodeScalars
        var marked = Set(scalars.indices.filter { scalars[$0] == "&" }.map { self.name(behind: $0, in: scalars) })
        marked.remove("")
        guard !marked.isEmpty else { return nil }
        return scalars.indices
            .first { scalars[$0] == "*" && marked.contains(self.name(behind: $0, in: scalars)) }
            .map { YAMLProblem.Place(of: $0, in: scalars) }
    }

    /// What stands behind a sign, as far as a name can go: letters, digits, `_` and `-`.
    private static func name(behind sign: String.Index, in scalars: String.UnicodeScalarView) -> String {
        let name = scalars[scalars.index(after: sign)...].prefix {
            switch $0 {
            case "a"..."z", "A"..."Z", "0"..."9", "_", "-": true
            default: false
            }
        }
        return String(name)
    }
}

extension YAMLProblem.Place {
    fileprivate init(_ mark: Mark) {
        self.init(line: mark.line, column: mark.column)
    }

    /// Counts lines as the parser does.
    fileprivate init(of index: String.Index, in scalars: String.UnicodeScalarView) {
        var (line, column) = (1, 1)
        var previous: Unicode.Scalar = " "
        for scalar in scalars[..<index] {
            column += 1
            if ["\n", "\r", "\u{85}", "\u{2028}", "\u{2029}"].contains(scalar) {
                line += previous == "\r" && scalar == "\n" ? 0 : 1
                column = 1
            }
            previous = scalar
        }
        self.init(line: line, column: column)
    }
}
