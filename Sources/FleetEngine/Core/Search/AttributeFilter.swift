// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A filter over attributes: `attributes.k = "v"` and `!=`, joined by `AND`, `OR` (which binds tighter), `NOT`, `-` and
/// parentheses.
struct AttributeFilter: Sendable {
    private indirect enum Term: Sendable {
        case restriction(key: String, value: String, equal: Bool)
        case not(Term)
        case all([Term])
        case any([Term])
    }

    private let term: Term

    /// Reads a filter.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    init(_ text: String) throws(EngineError) {
        var reader = Reader(tokens: try Self.tokens(text))
        self.term = try reader.sequence(depth: 0)
        guard reader.tokens.isEmpty else { throw Self.invalid("has something after its end") }
    }

    /// Whether attributes, by key, pass the filter.
    func matches(_ attributes: [String: String]) -> Bool { Self.matches(self.term, attributes) }

    private static func matches(_ term: Term, _ attributes: [String: String]) -> Bool {
        switch term {
        case .restriction(let key, let wanted, let equal):
            // An attribute that is missing meets neither = nor !=.
            attributes[key].map { Self.equals($0, wanted) == equal } ?? false
        case .not(let term): !Self.matches(term, attributes)
        case .all(let terms): terms.allSatisfy { Self.matches($0, attributes) }
        case .any(let terms): terms.contains { Self.matches($0, attributes) }
        }
    }

    /// Compares with a text that may have the wildcard `*` at either end.
    private static func equals(_ value: String, _ wanted: String) -> Bool {
        guard wanted.hasPrefix("*") || wanted.hasSuffix("*") else { return value == wanted }
        let core = wanted.drop { $0 == "*" }
        let middle = String(core.prefix(core.count - core.reversed().prefix { $0 == "*" }.count))
        switch (wanted.hasPrefix("*"), wanted.hasSuffix("*")) {
        case (true, true): return middle.isEmpty || value.contains(middle)
        case (true, false): return value.hasSuffix(middle)
        default: return value.hasPrefix(middle)
        }
    }

    fileprivate static func invalid(_ problem: String) -> EngineError {
        .invalidArgument("filter \(problem); write for example attributes.class = \"van\".", field: "filter")
    }
}

// MARK: - Reading

extension AttributeFilter {
    private enum Token: Equatable {
        case word(String), text(String), equal, unequal, open, close, minus
    }

    private static func tokens(_ text: String) throws(EngineError) -> ArraySlice<Token> {
        var tokens: [Token] = []
        var rest = Substring(text)
        while let character = rest.first {
            switch character {
            case " ", "\t", "\n", "\r": rest.removeFirst()
            case "(": tokens.append(.open); rest.removeFirst()
            case ")": tokens.append(.close); rest.removeFirst()
            case "=": tokens.append(.equal); rest.removeFirst()
            case "-": tokens.append(.minus); rest.removeFirst()
            case "!":
                guard rest.hasPrefix("!=") else { throw Self.invalid("has a single !") }
                tokens.append(.unequal)
                rest = rest.dropFirst(2)
            case "\"", "'":
                rest.removeFirst()
                tokens.append(.text(try Self.quoted(&rest, by: character)))
            default:
                let word = rest.prefix { !" \t\n\r()=!\"'".contains($0) }
                tokens.append(.word(String(word)))
                rest = rest.dropFirst(word.count)
            }
        }
        return tokens[...]
    }

    private static func quoted(_ rest: inout Substring, by quote: Character) throws(EngineError) -> String {
        var text = ""
        while let character = rest.popFirst() {
            if character == quote { return text }
            if character == "\\", let next = rest.popFirst() { text.append(next) } else { text.append(character) }
        }
        throw Self.invalid("has a quotation that does not end")
    }

    private struct Reader {
        var tokens: ArraySlice<Token>
        var restrictions = 0

        mutating func sequence(depth: Int) throws(EngineError) -> Term {
            guard depth < 20 else { throw AttributeFilter.invalid("is nested too deeply") }
            var terms = [try self.alternative(depth: depth)]
            while let next = self.tokens.first, next != .close {
                if next == .word("AND") { self.tokens.removeFirst() }
                terms.append(try self.alternative(depth: depth))
            }
            return .all(terms)
        }

        private mutating func alternative(depth: Int) throws(EngineError) -> Term {
            var terms = [try self.term(depth: depth)]
            while self.tokens.first == .word("OR") {
                self.tokens.removeFirst()
                terms.append(try self.term(depth: depth))
            }
            return .any(terms)
        }

        private mutating func term(depth: Int) throws(EngineError) -> Term {
            switch self.tokens.popFirst() {
            case .word("NOT"), .minus:
                guard depth < 20 else { throw AttributeFilter.invalid("is nested too deeply") }
                return .not(try self.term(depth: depth + 1))
            case .open:
                let inner = try self.sequence(depth: depth + 1)
                guard self.tokens.popFirst() == .close else { throw AttributeFilter.invalid("lacks a )") }
                return inner
            case .word(let name):
                return try self.restriction(name)
            default:
                throw AttributeFilter.invalid("has no condition where one is needed")
            }
        }

        private mutating func restriction(_ name: String) throws(EngineError) -> Term {
            self.restrictions += 1
            guard self.restrictions <= 50 else { throw AttributeFilter.invalid("has more than 50 restrictions") }
            guard name.hasPrefix("attributes."), name.count > 11 else {
                throw AttributeFilter.invalid("names \"\(name.prefix(64))\", which is not attributes.KEY")
            }
            let comparison = self.tokens.popFirst()
            guard comparison == .equal || comparison == .unequal else {
                throw AttributeFilter.invalid("compares with something other than = or !=")
            }
            switch self.tokens.popFirst() {
            case .text(let value), .word(let value):
                return .restriction(key: String(name.dropFirst(11)), value: value, equal: comparison == .equal)
            default:
                throw AttributeFilter.invalid("lacks a value after \(name.prefix(64))")
            }
        }
    }
}
