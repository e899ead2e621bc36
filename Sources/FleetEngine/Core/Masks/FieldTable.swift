// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import SwiftProtobuf

/// Which fields of a resource an update mask may name, and how each is taken over.
///
/// One table serves both spellings of a path, nested paths, clearing and refusals.
struct FieldTable<Resource: Message & Sendable>: Sendable {
    /// One top-level field.
    struct Field: Sendable {
        let name: String
        /// Whether an update may name the field, or a part of it, without changing it.
        var isIgnored = false
        /// Takes the field over from the request's body, unset included.
        let copy: @Sendable (Resource, inout Resource) -> Void
    }

    /// The parts of fields that are the service's own, in whichever resource has them.
    private static var outputOnlyParts: [String] { ["last_location.server_time"] }

    /// The fields that an update may name, by their names in either spelling.
    private let fields: [String: Field]
    private let refusals: [String: String]

    /// Makes a table.
    ///
    /// - Parameters:
    ///   - writable: The fields that an update may name.
    ///   - immutable: Fields that are fixed on creation.
    ///   - outputOnly: Fields that are the service's own.
    init(writable: [Field], immutable: [String], outputOnly: [String]) {
        self.fields = Dictionary(
            writable.flatMap { [($0.name, $0), (FieldName.camelCase($0.name), $0)] }
        ) { first, _ in first }
        self.refusals = Dictionary(
            immutable.map { ($0, "is fixed when the resource is created") }
                + outputOnly.map { ($0, "is set by the service alone") }
        ) { first, _ in first }
    }

    /// Reads an update mask.
    ///
    /// - Parameter mask: The mask as it was received; its paths may be in snake or camel case.
    /// - Returns: The fields that the mask names, each once.
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT` for an empty mask, one of more than 100 paths, a wildcard, or a
    ///   path that is unknown or not to be updated.
    func select(_ mask: Google_Protobuf_FieldMask) throws(EngineError) -> FieldSelection<Resource> {
        guard !mask.paths.isEmpty else {
            throw Self.invalid("update_mask cannot be empty; name the fields to change, separated by commas.")
        }
        guard !mask.isTooLong else {
            throw Self.invalid(
                "update_mask has \(mask.paths.count) paths; at most \(Google_Protobuf_FieldMask.maximumPaths) are read. "
                    + "Name whole fields.")
        }
        var whole: [Field] = []
        var nested: [FieldSelection<Resource>.Part] = []
        func add(_ field: Field) {
            if !whole.contains(where: { $0.name == field.name }) { whole.append(field) }
        }
        for sent in mask.paths {
            if let field = self.fields[sent] {
                add(field)
                continue
            }
            guard sent != "*" else {
                throw Self.invalid("update_mask does not take the wildcard *; name the fields to change.")
            }
            let path = FieldName.snakeCase(sent)
            guard !nested.contains(where: { $0.path == path }) else { continue }
            let name = path[..<(path.utf8.firstIndex(of: UInt8(ascii: ".")) ?? path.endIndex)]
            guard let field = self.fields[String(name)] else {
                guard let refusal = self.refusals[String(name)] else { throw Self.unknown(sent) }
                throw Self.invalid("update_mask names \(name), which \(refusal); leave it out.")
            }
            guard name.endIndex < path.endIndex else {
                add(field)
                continue
            }
            guard Resource.isPathValid(path) else { throw Self.unknown(sent) }
            if let part = Self.outputOnlyParts.first(where: { path == $0 || path.hasPrefix($0 + ".") }) {
                throw Self.invalid("update_mask names \(part), which is set by the service alone; leave it out.")
            }
            if !field.isIgnored { nested.append(.init(field: field, path: path)) }
        }
        return FieldSelection(whole: whole, nested: nested)
    }

    private static func unknown(_ path: String) -> EngineError {
        // A character has no limit of length.
        let start = String(path.unicodeScalars.prefix(100))
        return self.invalid("update_mask names \"\(start)\", which is not a field of the resource.")
    }

    private static func invalid(_ message: String) -> EngineError {
        .invalidArgument(message, field: "update_mask")
    }
}

extension FieldTable.Field {
    /// A scalar, enum or repeated field.
    static func value<Value>(_ name: String, _ path: any WritableKeyPath<Resource, Value> & Sendable) -> Self {
        Self(name: name) { source, target in target[keyPath: path] = source[keyPath: path] }
    }

    /// A message field, which can be unset.
    static func message<Value>(
        _ name: String,
        _ path: any WritableKeyPath<Resource, Value> & Sendable,
        isSet: any KeyPath<Resource, Bool> & Sendable,
        clear: @escaping @Sendable (inout Resource) -> Void
    ) -> Self {
        Self(name: name) { source, target in
            if source[keyPath: isSet] { target[keyPath: path] = source[keyPath: path] } else { clear(&target) }
        }
    }

    /// A field that an update may name without changing it.
    static func ignored(_ name: String) -> Self {
        Self(name: name, isIgnored: true) { _, _ in }
    }
}

extension Google_Protobuf_FieldMask {
    /// The most paths of a mask; no resource has as many fields and parts that are worth naming.
    static let maximumPaths = 100

    /// Whether it has more, for which an update is refused.
    var isTooLong: Bool { self.paths.count > Self.maximumPaths }
}
