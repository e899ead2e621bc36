// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// The query of a request, bound to the fields of its message.
struct HTTPQuery {
    /// The fields as a JSON object, but for the mask.
    private(set) var fields: JSONObject = [:]
    /// The paths of the mask as they are spelt: JSON cannot spell each that other adapters take; `nil` where the query has
    /// no mask.
    private(set) var mask: [String]?
    /// Whether the answer is to hold the numbers of enumerations rather than their names.
    private(set) var wantsEnumNumbers = false

    /// What every method of Google's APIs takes beside its fields, under these names and with `$` before them.
    private static let systemParameters: Set<String> = ["alt", "fields", "key", "prettyPrint", "quotaUser"]

    /// Binds a query.
    ///
    /// System parameters are ignored but for `alt`, which may ask for the numbers of enumerations.
    ///
    /// - Parameters:
    ///   - query: The query as it was sent, without the question mark.
    ///   - allowed: The fields that it may bind.
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    init(_ query: String, allowed: [String: QueryField]) throws(EngineError) {
        for parameter in query.utf8.split(separator: UInt8(ascii: "&")) {
            let parts = parameter.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                .map(Substring.init)
            let name = PercentCoding.decode(parts[0], plusIsSpace: true)
            guard let name, let value = PercentCoding.decode(parts.count == 2 ? parts[1] : "", plusIsSpace: true)
            else {
                throw .invalidArgument(
                    "The query is not percent-encoded UTF-8.", field: name.map { FieldName.snakeCase($0) })
            }
            if name.hasPrefix("$") || Self.systemParameters.contains(name) && allowed[name] == nil {
                if name == "$alt" || name == "alt" { self.wantsEnumNumbers = value.hasSuffix(";enum-encoding=int") }
                continue
            }
            let path = name.split(separator: ".", omittingEmptySubsequences: false).map(FieldName.camelCase)
            if path.count == 1, case .mask? = allowed[path[0]]?.kind {
                guard self.mask == nil else { throw Self.repeated(name) }
                self.mask = FieldName.paths(ofMask: value)
                continue
            }
            try Self.bind(path[...], named: name, to: value, in: &self.fields, allowed: allowed)
        }
    }

    private static func bind(
        _ path: ArraySlice<String>, named name: String, to value: String, in fields: inout JSONObject,
        allowed: [String: QueryField]
    ) throws(EngineError) {
        guard let head = path.first, let field = allowed[head] else { throw self.unknown(name) }
        if case .message(let inner) = field.kind {
            var members = fields[head]?.object ?? [:]
            try self.bind(path.dropFirst(), named: name, to: value, in: &members, allowed: inner)
            fields[head] = .object(members)
            return
        }
        guard path.count == 1 else { throw self.unknown(name) }
        let scalar = try self.scalar(value, of: field.kind, named: name)
        if field.isRepeated {
            fields[head] = .array((fields[head]?.array ?? []) + [scalar])
        } else {
            guard fields[head] == nil else { throw self.repeated(name) }
            fields[head] = scalar
        }
    }

    private static func scalar(
        _ value: String, of kind: QueryField.Kind, named name: String
    ) throws(EngineError) -> JSONValue {
        switch kind {
        case .text, .mask, .message: return .string(value)
        case .enumeration: return Int64(value).map(JSONValue.integer) ?? .string(value)
        case .flag:
            guard let flag = Bool(value) else {
                throw .invalidArgument(
                    "The query parameter \(name) is neither true nor false.", field: FieldName.snakeCase(name))
            }
            return .bool(flag)
        }
    }

    private static func repeated(_ name: String) -> EngineError {
        .invalidArgument("The query parameter \(name) is given more than once.", field: FieldName.snakeCase(name))
    }

    private static func unknown(_ name: String) -> EngineError {
        .invalidArgument(
            "The query parameter \"\(name.prefix(64))\" is not one of this method.", field: FieldName.snakeCase(name))
    }
}
