// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import SwiftProtobuf

/// A filter over the fields of a resource: restrictions such as `attributes.k = "v"`, joined by `AND`, `OR` (which binds
/// tighter), `NOT`, `-` and parentheses.
struct ResourceFilter: Sendable {
    /// What a restriction compares.
    enum Field: Hashable, Sendable {
        /// A field of the resource, in snake case.
        case named(String)
        /// The attribute with this key.
        case attribute(String)
    }

    /// The fields that restrictions compare, each with a place, so that a resource is asked once for each.
    struct Places: Sendable {
        private(set) var byField: [Field: Int] = [:]

        /// The place of a field, which gets the next one where it has none.
        mutating func place(of field: Field) -> Int {
            let place = self.byField[field] ?? self.byField.count
            self.byField[field] = place
            return place
        }
    }

    /// What a field holds, and so how it is compared.
    enum FieldKind: Sendable {
        /// Text: `=` and `!=`, with the wildcard `*` at either end, whatever the spelling of its accents.
        case text
        /// An id: as text, but that none holds U+0000.
        case id
        /// One of these names: `=` and `!=`.
        case choice([String])
        /// A time in RFC 3339: every comparison.
        case time
    }

    /// The value of a field.
    enum Value: Hashable, Sendable {
        case text(NormalisedText)
        case choice(String)
        case time(Google_Protobuf_Timestamp)
    }

    /// What the value of a field is compared with.
    enum Operand: Sendable {
        case text(TextPattern)
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
        /// The place of the field.
        let place: Int
        let comparison: Comparison
        let operand: Operand
    }

    indirect enum Term: Sendable {
        case restriction(Restriction)
        case not(Term)
        case all([Term])
        case any([Term])
    }

    /// How long a filter is at most; 50 restrictions with the longest keys and texts of attributes are shorter, unless
    /// their accents are spelt apart.
    private static let maximumBytes = 64 * 1024

    private let term: Term
    private let places: Places

    /// Reads a filter.
    ///
    /// - Parameters:
    ///   - text: The filter, of at most 64 KiB.
    ///   - fields: The fields that it may name beside `attributes.KEY`, in snake case.
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    init(_ text: String, fields: [String: FieldKind] = [:]) throws(EngineError) {
        guard text.utf8.count <= Self.maximumBytes else {
            throw Self.invalid("has more than \(Self.maximumBytes) bytes")
        }
        var reader = FilterReader(tokens: try FilterToken.tokens(text), fields: fields)
        self.term = try reader.read()
        self.places = reader.places
    }

    /// Makes a filter.
    ///
    /// - Parameters:
    ///   - term: What a resource must meet.
    ///   - places: The places of all fields that the term compares.
    init(term: Term, places: Places) {
        self.term = term
        self.places = places
    }

    /// Whether a resource passes.
    ///
    /// - Parameter value: Looks a field up, once for each that the filter names; `nil` where the resource has none.
    /// - Returns: Whether it does.
    func matches(_ value: (Field) -> Value?) -> Bool {
        var values = self.noValues
        for (field, place) in self.places.byField { values[place] = value(field) }
        return Self.matches(self.term, values)
    }

    /// Whether attributes pass a filter that names nothing else.
    ///
    /// The keys of the filter, which may come from anyone, are not looked up again for each resource.
    func matches(attributes: [some ResourceAttribute]) -> Bool {
        var values = self.noValues
        for attribute in attributes {
            guard let place = self.places.byField[.attribute(attribute.key)], values[place] == nil else { continue }
            values[place] = .text(NormalisedText(attribute.text ?? ""))
        }
        return Self.matches(self.term, values)
    }

    /// Whether attributes, by key, pass a filter that names nothing else.
    func matches(attributes: [String: String]) -> Bool {
        self.matches { Self.attribute($0, in: attributes) }
    }

    /// The value of an attribute; `nil` for other fields.
    static func attribute(_ field: Field, in attributes: [String: String]) -> Value? {
        guard case .attribute(let key) = field, let text = attributes[key] else { return nil }
        return .text(NormalisedText(text))
    }

    /// What a field must equal in every resource that passes, where the filter tells it without a wildcard.
    func required(_ field: String) -> String? {
        self.places.byField[.named(field)].flatMap { Self.required($0, in: self.term) }
    }

    static func invalid(_ problem: String) -> EngineError {
        .invalidArgument("filter \(problem); write for example attributes.class = \"van\".", field: "filter")
    }
}

// MARK: - Matching

extension ResourceFilter {
    /// As many values as the filter names fields, all missing.
    private var noValues: [Value?] { Array(repeating: nil, count: self.places.byField.count) }

    /// Whether values, by place, meet a term.
    private static func matches(_ term: Term, _ values: [Value?]) -> Bool {
        switch term {
        case .restriction(let restriction):
            // A field that is missing meets no comparison, not even !=.
            values[restriction.place].map { Self.holds($0, restriction) } ?? false
        case .not(let term): !Self.matches(term, values)
        case .all(let terms): terms.allSatisfy { Self.matches($0, values) }
        case .any(let terms): terms.contains { Self.matches($0, values) }
        }
    }

    private static func holds(_ value: Value, _ restriction: Restriction) -> Bool {
        switch (value, restriction.operand) {
        case (.text(let text), .text(let pattern)):
            pattern.matches(text) == (restriction.comparison == .equal)
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

    private static func required(_ place: Int, in term: Term) -> String? {
        switch term {
        case .restriction(let restriction):
            guard restriction.place == place, restriction.comparison == .equal else { return nil }
            return switch restriction.operand {
            case .text(let pattern): pattern.onlyText
            case .choice(let name): name
            case .time: nil
            }
        case .all(let terms): return terms.lazy.compactMap { Self.required(place, in: $0) }.first
        case .any(let terms): return terms.count == 1 ? terms.first.flatMap { Self.required(place, in: $0) } : nil
        case .not: return nil
        }
    }
}
