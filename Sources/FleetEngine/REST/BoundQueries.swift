// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import SwiftProtobuf

/// The queries of one method, bound to its requests.
///
/// Those that came lately are remembered: all reports of a fleet have the same query, and a customer asks again and again
/// with one until the trip changes.
final class BoundQueries<Request: Message & Sendable>: Sendable {
    /// What a query fills in.
    struct Bound: Sendable {
        /// The request, with what the query says and nothing else.
        let request: Request
        /// Whether the answer is to hold the numbers of enumerations rather than their names.
        let wantsEnumNumbers: Bool
    }

    private let remembered = Remembered<Bound>(capacity: capacity)
    private let setMask: @Sendable (inout Request, [String]) -> Void

    /// How many queries are remembered, and how long they may be, in bytes.
    static var capacity: Int { 1024 }
    static var maximumBytes: Int { 256 }

    /// Makes the binding of one method.
    ///
    /// - Parameter setMask: Sets the paths of a request's mask, where the method has one.
    init(mask setMask: @escaping @Sendable (inout Request, [String]) -> Void = { _, _ in }) {
        self.setMask = setMask
    }

    /// Binds a query.
    ///
    /// - Parameters:
    ///   - query: The query as it was sent, without the question mark.
    ///   - allowed: The fields that it may bind.
    /// - Returns: The request that it fills.
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    func bind(_ query: String, allowed: [String: QueryField]) throws(EngineError) -> Bound {
        // Beyond ASCII, texts of different bytes can be equal, and ids are told apart by their bytes.
        let isMemorable = query.utf8.count <= Self.maximumBytes && !query.utf8.anyByte { $0 >= 0x80 }
        if isMemorable, let known = self.remembered[query] { return known }
        let read = try HTTPQuery(query, allowed: allowed)
        var request = Request()
        if !read.fields.isEmpty {
            do throws(EngineError) {
                request = try MessageJSON.read(JSONValue.object(read.fields).serialized, at: "The query")
            } catch {
                throw Self.fault(in: read.fields) ?? error
            }
        }
        if let mask = read.mask { self.setMask(&request, mask) }
        let bound = Bound(request: request, wantsEnumNumbers: read.wantsEnumNumbers)
        if isMemorable { self.remembered.keep(bound, for: query) }
        return bound
    }

    /// The error of the first field that cannot be read by itself: that of the whole query does not say which it is.
    private static func fault(in fields: JSONObject, within path: [String] = []) -> EngineError? {
        for key in fields.keys {
            guard let value = fields[key] else { continue }
            let path = path + [key]
            if let members = value.object {
                if let fault = self.fault(in: members, within: path) { return fault }
                continue
            }
            let alone = path.reversed().reduce(value) { .object([$1: $0]) }
            let name = path.joined(separator: ".")
            do throws(EngineError) {
                let _: Request = try MessageJSON.read(alone.serialized, at: "The query parameter \(name)")
            } catch {
                return .invalidArgument(error.message, field: FieldName.snakeCase(name))
            }
        }
        return nil
    }

    /// How many queries are remembered now.
    var count: Int { self.remembered.count }
}
