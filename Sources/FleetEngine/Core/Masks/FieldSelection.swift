// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftProtobuf

/// The fields of a resource that one update names.
struct FieldSelection<Resource: Message & Sendable>: Sendable {
    /// A part of a top-level field.
    struct Part: Sendable {
        /// The top-level field.
        let field: FieldTable<Resource>.Field
        /// The whole path, in snake case.
        let path: String
    }

    private let whole: [FieldTable<Resource>.Field]
    private let nested: [Part]

    init(whole: [FieldTable<Resource>.Field], nested: [Part]) {
        self.whole = whole
        self.nested = nested
    }

    /// Whether the update touches a top-level field, or a part of it.
    func touches(_ field: String) -> Bool {
        self.namesWhole(field) || self.namesPart(of: field)
    }

    /// Whether the update names a top-level field itself.
    func namesWhole(_ field: String) -> Bool { self.whole.contains { $0.name == field } }

    /// Whether the update touches none but these top-level fields.
    func isWithin(_ fields: Set<String>) -> Bool {
        self.whole.allSatisfy { fields.contains($0.name) } && self.nested.allSatisfy { fields.contains($0.field.name) }
    }

    /// Whether the update names a part of a top-level field.
    func namesPart(of field: String) -> Bool { self.nested.contains { $0.field.name == field } }

    /// Whether the update names a nested path, or anything above it.
    func covers(_ path: String) -> Bool {
        self.whole.contains { path.hasPrefix($0.name + ".") }
            || self.nested.contains { path == $0.path || path.hasPrefix($0.path + ".") }
    }

    /// Whether the update names a nested path, anything above it, or a part of it.
    func reaches(_ path: String) -> Bool {
        let parts = path + "."
        return self.covers(path) || self.nested.contains { $0.path.hasPrefix(parts) }
    }

    /// The selection without one top-level field.
    func without(_ field: String) -> Self {
        Self(
            whole: self.whole.filter { $0.name != field },
            nested: self.nested.filter { $0.field.name != field }
        )
    }

    /// Takes back what the update did to some top-level fields.
    ///
    /// - Parameters:
    ///   - fields: The names of the fields.
    ///   - patched: The resource with the update, which gets these fields as they were.
    ///   - resource: The resource before the update.
    /// - Returns: The selection without these fields.
    func undoing(_ fields: [String], in patched: inout Resource, to resource: Resource) -> Self {
        for field in self.whole + self.nested.map(\.field) where fields.contains(field.name) {
            field.copy(resource, &patched)
        }
        return fields.reduce(self) { $0.without($1) }
    }

    /// The resource with the named fields of the body, before any rule is applied.
    ///
    /// A named field that the body leaves unset is cleared; whatever else the body holds is ignored.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT` for a nested path that leads into a bare value, into a field of
    ///   more than 4096 bytes, or to as much in the body.
    func patching(_ resource: Resource, with body: Resource) throws(EngineError) -> Resource {
        var patched = resource
        for field in self.whole { field.copy(body, &patched) }
        return self.nested.isEmpty ? patched : try self.patchingNested(patched, with: body)
    }

    /// Nested paths are rare; they go through the JSON form, where every message is a dictionary and unset is absent.
    private func patchingNested(_ resource: Resource, with body: Resource) throws(EngineError) -> Resource {
        do {
            var target = try Self.object(self.short(self.reached(in: resource)))
            let source = try self.source(body)
            for part in self.nested {
                Self.take(Self.names(part.path), from: source, into: &target)
            }
            let changed = try Resource(jsonUTF8Bytes: JSONSerialization.data(withJSONObject: target))
            var patched = resource
            for part in self.nested { part.field.copy(changed, &patched) }
            return patched
        } catch let error as EngineError {
            throw error
        } catch {
            let valued = self.nested.filter { Self.leadsIntoValue($0.path) }
            throw valued.isEmpty
                ? Self.invalid(self.nested, "and the body has a time or duration out of range; correct it.")
                : Self.invalid(valued, "in a value which has no parts that a mask can name; name the whole field.")
        }
    }

    /// The fields that the nested paths reach and no others, which may be long and, in a body, hold anything.
    private func reached(in message: Resource) -> Resource {
        self.nested.reduce(into: Resource()) { $1.field.copy(message, &$0) }
    }

    /// A body's part of a change: the fields that the nested paths reach, or no more of them than the paths name.
    private func source(_ body: Resource) throws -> [String: Any] {
        let reached = self.reached(in: body)
        if Self.isShort(reached), let source = try? Self.object(reached) { return source }
        // What no path names is in the way only where it is long, or no JSON can tell it.
        var named = Resource()
        try named.merge(from: reached, fieldMask: .with { $0.paths = self.nested.map(\.path) })
        return try Self.object(self.short(named))
    }

    private static func invalid(_ parts: [Part], _ problem: String) -> EngineError {
        let most = 3
        let paths = parts.prefix(most).map(\.path) + (parts.count > most ? ["…"] : [])
        return .invalidArgument(
            "update_mask names \(paths.joined(separator: ", ")), \(problem)", field: "update_mask")
    }

    /// Whether a path leads into what JSON tells in one value: a number that may be unset, a time, a duration.
    private static func leadsIntoValue(_ path: String) -> Bool {
        // Nothing, brought there, makes all messages that the path leads through.
        var blank = Resource()
        try? blank.merge(from: Resource(), fieldMask: .with { $0.paths = [path] })
        var holder: Any? = try? Self.object(blank)
        for name in Self.names(path).dropLast() { holder = (holder as? [String: Any])?[name] }
        return holder.map { !($0 is [String: Any]) } ?? false
    }

    /// The most bytes of the fields of which parts are changed: many times those of a location, and converted soon enough
    /// for everybody else's writes, which wait meanwhile.
    private static var maximumBytes: Int { 4096 }

    /// A message whose conversion is soon done.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT` for a longer one.
    private func short(_ message: Resource) throws(EngineError) -> Resource {
        guard Self.isShort(message) else {
            throw Self.invalid(
                self.nested, "in fields of more than \(Self.maximumBytes) bytes; name the whole field.")
        }
        return message
    }

    private static func isShort(_ message: Resource) -> Bool {
        let binary: [UInt8]? = try? message.serializedBytes()
        return binary.map { $0.count <= Self.maximumBytes } ?? false
    }

    private static func object(_ message: Resource) throws -> [String: Any] {
        try JSONSerialization.jsonObject(with: message.jsonUTF8Data()) as? [String: Any] ?? [:]
    }

    private static func take(_ path: [String], from source: [String: Any], into target: inout [String: Any]) {
        guard let name = path.first else { return }
        guard path.count > 1 else {
            if source[name] != nil, self.alternatives.contains(name) {
                for other in self.alternatives { target[other] = nil }
            }
            target[name] = source[name]
            return
        }
        var inner = target[name] as? [String: Any] ?? [:]
        Self.take(Array(path.dropFirst()), from: source[name] as? [String: Any] ?? [:], into: &inner)
        // Clearing a part of what is not there makes nothing. A bare value has no parts, which reading the result tells.
        let isAbsent = source[name] == nil || source[name] is [String: Any]
        if target[name] == nil, inner.isEmpty, isAbsent { return }
        target[name] = inner
    }

    /// The fields of which a message has one: those of `VisibilityOption`.
    private static var alternatives: Set<String> {
        [
            "remainingStopCountThreshold", "durationUntilEstimatedArrivalTimeThreshold",
            "remainingDrivingDistanceMetersThreshold", "always", "never",
        ]
    }

    /// The names of a path as JSON spells them.
    private static func names(_ path: String) -> [String] {
        path.split(separator: ".").map(Self.camelCased)
    }

    private static func camelCased(_ name: Substring) -> String {
        let words = name.split(separator: "_")
        return words.dropFirst().reduce(into: words.first.map(String.init) ?? "") { $0 += $1.capitalized }
    }
}
