// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import SwiftProtobuf

/// Reads the words and signs of a filter into terms.
struct FilterReader {
    /// How many parentheses and negations may stand within each other.
    private static let maximumDepth = 20
    private static let maximumRestrictions = 50
    private static let attributes = "attributes."
    /// How many characters of an id or name are compared; none has more, however its accents are spelled.
    private static let maximumNameLength = 512

    private var tokens: ArraySlice<FilterToken>
    private let fields: [String: ResourceFilter.FieldKind]
    private var restrictions = 0
    /// The fields read so far.
    private(set) var places = ResourceFilter.Places()

    init(tokens: ArraySlice<FilterToken>, fields: [String: ResourceFilter.FieldKind]) {
        self.tokens = tokens
        self.fields = fields
    }

    /// Reads everything; a blank filter takes all.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    mutating func read() throws(EngineError) -> ResourceFilter.Term {
        guard !self.tokens.isEmpty else { return .all([]) }
        let term = try self.sequence(depth: 0)
        guard self.tokens.isEmpty else { throw ResourceFilter.invalid("has something after its end") }
        return term
    }

    private mutating func sequence(depth: Int) throws(EngineError) -> ResourceFilter.Term {
        guard depth <= Self.maximumDepth else { throw Self.tooDeep }
        var terms = [try self.alternative(depth: depth)]
        while let next = self.tokens.first, next != .close {
            if next == .word("AND") { self.tokens.removeFirst() }
            terms.append(try self.alternative(depth: depth))
        }
        return .all(terms)
    }

    private mutating func alternative(depth: Int) throws(EngineError) -> ResourceFilter.Term {
        var terms = [try self.term(depth: depth)]
        while self.tokens.first == .word("OR") {
            self.tokens.removeFirst()
            terms.append(try self.term(depth: depth))
        }
        return .any(terms)
    }

    private mutating func term(depth: Int) throws(EngineError) -> ResourceFilter.Term {
        switch self.tokens.popFirst() {
        case .word("NOT"), .minus:
            guard depth < Self.maximumDepth else { throw Self.tooDeep }
            return .not(try self.term(depth: depth + 1))
        case .open:
            let inner = try self.sequence(depth: depth + 1)
            guard self.tokens.popFirst() == .close else { throw ResourceFilter.invalid("lacks a )") }
            return inner
        case .word(let name), .name(let name):
            return .restriction(try self.restriction(name))
        default:
            throw ResourceFilter.invalid("has no condition where one is needed")
        }
    }

    private static var tooDeep: EngineError {
        ResourceFilter.invalid("has more than \(Self.maximumDepth) parentheses and negations within each other")
    }

    private mutating func restriction(_ name: String) throws(EngineError) -> ResourceFilter.Restriction {
        self.restrictions += 1
        guard self.restrictions <= Self.maximumRestrictions else {
            throw ResourceFilter.invalid("has more than \(Self.maximumRestrictions) restrictions")
        }
        let (field, kind) = try self.field(name)
        guard case .comparison(let comparison) = self.tokens.popFirst() else {
            throw ResourceFilter.invalid("lacks a comparison after \(name.prefix(64))")
        }
        if case .time = kind {
        } else if comparison != .equal, comparison != .unequal {
            throw ResourceFilter.invalid("compares \(name.prefix(64)) with something other than = or !=")
        }
        guard self.tokens.first != .minus else {
            throw ResourceFilter.invalid(
                "compares \(name.prefix(64)) with a value that begins with - and needs quotation marks")
        }
        guard let text = self.popText() else {
            throw ResourceFilter.invalid("lacks a value after \(name.prefix(64))")
        }
        let (limit, isTooLong) =
            switch field {
            case .attribute: (AttributeRules.maximumLength, AttributeRules.isTooLong(text))
            case .named: (Self.maximumNameLength, text.unicodeScalars.count > Self.maximumNameLength)
            }
        guard !isTooLong else {
            throw ResourceFilter.invalid(
                "compares \(name.prefix(64)) with a text of more than \(limit) characters, which it cannot have")
        }
        let operand = try Self.operand(text, of: kind, for: name)
        return ResourceFilter.Restriction(
            place: self.places.place(of: field), comparison: comparison, operand: operand)
    }

    /// The text to compare with: a quoted one, or a bare word other than those that join conditions.
    private mutating func popText() -> String? {
        switch self.tokens.popFirst() {
        case .word("AND"), .word("OR"), .word("NOT"): nil
        case .text(let text), .word(let text): text
        default: nil
        }
    }

    /// The field that a name means; the names of fields may be in camel case, the keys of attributes are as they are.
    private func field(_ name: String) throws(EngineError) -> (ResourceFilter.Field, ResourceFilter.FieldKind) {
        // By bytes: the dot may be one character together with an accent that the key begins with.
        let prefix = Self.attributes.utf8
        if name.utf8.starts(with: prefix), name.utf8.count > prefix.count {
            let key = String(Substring(name.utf8.dropFirst(prefix.count)))
            guard !AttributeRules.isTooLong(key) else {
                throw ResourceFilter.invalid(
                    "names \"\(name.prefix(64))…\", whose key has more than \(AttributeRules.maximumLength) characters")
            }
            return (.attribute(key), .text)
        }
        let field = FieldName.snakeCase(name)
        guard let kind = self.fields[field] else {
            let known = ["\(Self.attributes)KEY"] + self.fields.keys.sorted()
            throw ResourceFilter.invalid("names \"\(name.prefix(64))\", which is not \(known.joined(separator: ", "))")
        }
        return (.named(field), kind)
    }

    private static func operand(
        _ text: String, of kind: ResourceFilter.FieldKind, for name: String
    ) throws(EngineError) -> ResourceFilter.Operand {
        switch kind {
        case .text: return .text(TextPattern(text))
        case .id:
            // No id has it, and not every database takes it in a query.
            guard !text.utf8.contains(0) else {
                throw ResourceFilter.invalid("compares \(name.prefix(64)) with a text that holds U+0000")
            }
            return .text(TextPattern(text))
        case .choice(let names):
            guard names.contains(text) else {
                throw ResourceFilter.invalid(
                    "compares \(name.prefix(64)) with none of \(names.joined(separator: ", "))")
            }
            return .choice(text)
        case .time:
            guard let time = try? Google_Protobuf_Timestamp(jsonString: "\"\(text)\"") else {
                throw ResourceFilter.invalid("compares \(name.prefix(64)) with what is not a time in RFC 3339")
            }
            return .time(time)
        }
    }
}
