// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import SwiftProtobuf

/// A filter over the fields of a resource: restrictions such as `attributes.k = "v"`, joined by `AND`, `OR` (which binds
/// tighter), `NOT`, `-` and parentheses.
struct ResourceFilter: Sendable {
    /// What a field holds, and so how it is compared.
    enum FieldKind: Sendable {
        /// Text: `=` and `!=`, with the wildcard `*` at either end.
        case text
        /// An id: as text, whatever the spelling of its accents.
        case id
        /// One of these names: `=` and `!=`.
        case choice([String])
        /// A time in RFC 3339: every comparison.
        case time
    }

    /// The value of a field.
    enum Value: Hashable, Sendable {
        case text(String)
        case choice(String)
        case time(Google_Protobuf_Timestamp)
    }

    enum Comparison: String, Sendable {
        case equal = "="
        case unequal = "!="
        case less = "<"
        case lessOrEqual = "<="
        case greater = ">"
        case greaterOrEqual = ">="
    }

    struct Restriction: Sendable {
        let field: String
        let comparison: Comparison
        let value: Value
    }

    indirect enum Term: Sendable {
        case restriction(Restriction)
        case not(Term)
        case all([Term])
        case any([Term])
    }

    private let term: Term

    /// Reads a filter.
    ///
    /// - Parameters:
    ///   - text: The filter.
    ///   - fields: The fields that it may name beside `attributes.KEY`, in snake case.
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    init(_ text: String, fields: [String: FieldKind] = [:]) throws(EngineError) {
        var reader = FilterReader(tokens: try FilterToken.tokens(text), fields: fields)
        self.term = try reader.read()
    }

    /// Whether a resource passes.
    ///
    /// - Parameter value: Looks a field up by the name that the filter gives it; `nil` where the resource has none.
    /// - Returns: Whether it does.
    func matches(_ value: (String) -> Value?) -> Bool { Self.matches(self.term, value) }

    /// What a field must equal in every resource that passes, where the filter tells it without a wildcard.
    func required(_ field: String) -> String? { Self.required(field, in: self.term) }

    static func invalid(_ problem: String) -> EngineError {
        .invalidArgument("filter \(problem); write for example attributes.class = \"van\".", field: "filter")
    }
}

// MARK: - Matching

extension ResourceFilter {
    private static func matches(_ term: Term, _ value: (String) -> Value?) -> Bool {
        switch term {
        case .restriction(let restriction):
            // A field that is missing meets no comparison, not even !=.
            value(restriction.field).map { Self.holds($0, restriction) } ?? false
        case .not(let term): !Self.matches(term, value)
        case .all(let terms): terms.allSatisfy { Self.matches($0, value) }
        case .any(let terms): terms.contains { Self.matches($0, value) }
        }
    }

    private static func holds(_ value: Value, _ restriction: Restriction) -> Bool {
        switch (value, restriction.value) {
        case (.text(let text), .text(let wanted)):
            Self.equals(text, wanted) == (restriction.comparison == .equal)
        case (.choice(let name), .choice(let wanted)):
            (name == wanted) == (restriction.comparison == .equal)
        case (.time(let time), .time(let other)):
            switch restriction.comparison {
            case .equal: time == other
            case .unequal: time != other
            case .less: time < other
            case .lessOrEqual: !(other < time)
            case .greater: other < time
            case .greaterOrEqual: !(time < other)
            }
        default: false
        }
    }

    /// Compares with a text that may have the wildcard `*` at either end.
    private static func equals(_ value: String, _ wanted: String) -> Bool {
        guard Self.isPattern(wanted) else { return value == wanted }
        let core = wanted.drop { $0 == "*" }
        let middle = String(core.prefix(core.count - core.reversed().prefix { $0 == "*" }.count))
        switch (wanted.hasPrefix("*"), wanted.hasSuffix("*")) {
        case (true, true): return middle.isEmpty || value.contains(middle)
        case (true, false): return value.hasSuffix(middle)
        default: return value.hasPrefix(middle)
        }
    }

    private static func isPattern(_ text: String) -> Bool { text.hasPrefix("*") || text.hasSuffix("*") }

    private static func required(_ field: String, in term: Term) -> String? {
        switch term {
        case .restriction(let restriction):
            guard restriction.field == field, restriction.comparison == .equal else { return nil }
            return switch restriction.value {
            case .text(let text): Self.isPattern(text) ? nil : text
            case .choice(let name): name
            case .time: nil
            }
        case .all(let terms): return terms.lazy.compactMap { Self.required(field, in: $0) }.first
        case .any(let terms): return terms.count == 1 ? terms.first.flatMap { Self.required(field, in: $0) } : nil
        case .not: return nil
        }
    }
}
