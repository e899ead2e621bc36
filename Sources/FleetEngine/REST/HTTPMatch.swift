// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import HTTPTypes

/// A row of the table that a request's verb and path meet, with the name that the path spells.
struct HTTPMatch {
    /// The row.
    let rule: HTTPRule
    /// The resource's name, or its parent's; as it was sent where it cannot be one.
    let name: String
    /// What is wrong with the name, to be told once the caller is known.
    let fault: EngineError?

    /// Finds the row for a request.
    ///
    /// - Parameters:
    ///   - verb: The verb.
    ///   - path: The path as it was sent, still percent-encoded.
    /// - Throws: ``EngineError`` with `NOT_FOUND` when no row fits.
    init(verb: HTTPRequest.Method, path: String) throws(EngineError) {
        let (resource, action) = Self.parts(of: path)
        var segments = PathSegments(resource)
        _ = segments.next()
        guard segments.next() == "v1", let root = segments.next(), root == "providers",
            let provider = segments.next(), !provider.isEmpty, let collection = segments.next()
        else { throw Self.unknownPath }
        let id = segments.next()
        guard id?.isEmpty != true, segments.next() == nil else { throw Self.unknownPath }

        let rules = HTTPRule.byCollection[String(collection), default: []]
        let isMet = { (rule: HTTPRule) in rule.hasID == (id != nil) && rule.action == action }
        guard let rule = rules.first(where: { $0.verb == verb && isMet($0) }) else {
            let verbs = rules.filter(isMet).map(\.verb.rawValue).joined(separator: " or ")
            guard !verbs.isEmpty else { throw Self.unknownPath }
            throw EngineError(
                code: .notFound,
                reason: "ROUTE_UNKNOWN",
                message: "\(verb.rawValue.prefix(16)) is not served at this path; use \(verbs)."
            )
        }
        self.rule = rule
        // Without escapes, the path spells the name as it is.
        let name = path[root.startIndex..<(id ?? provider).endIndex]
        guard name.utf8.anyByte(is: { $0 == UInt8(ascii: "%") }) else {
            self.name = String(name)
            self.fault = nil
            return
        }
        do throws(EngineError) {
            let field = id == nil ? "parent" : "name"
            let parent = "providers/\(try Self.decode(provider, of: field))"
            self.name = if let id { "\(parent)/\(collection)/\(try Self.decode(id, of: field))" } else { parent }
            self.fault = nil
        } catch {
            self.name = String(name)
            self.fault = error
        }
    }

    /// The path without a custom verb such as `:search` at its end, and that verb.
    ///
    /// A colon before anything else is part of an id, which the engine refuses as an id.
    private static func parts(of path: String) -> (resource: Substring, action: Substring) {
        guard let colon = path.utf8.lastIndex(of: UInt8(ascii: ":")), self.actions.contains(String(path[colon...]))
        else { return (path[...], "") }
        return (path[..<colon], path[colon...])
    }

    /// The custom verbs of the table, and one that the API had once: a call of it is no call of UpdateVehicle.
    private static let actions = Set(HTTPRule.all.map(\.action) + [":updateLocation"])

    private static func decode(_ segment: Substring, of field: String) throws(EngineError) -> String {
        guard let text = PercentCoding.decode(segment) else {
            throw .invalidArgument(
                "A segment of the path is not percent-encoded UTF-8; encode each id on its own.", field: field)
        }
        guard !text.utf8.contains(UInt8(ascii: "/")) else {
            throw .invalidArgument(
                "An id in the path holds an encoded slash; none of / : ? , # is allowed in ids.", field: field)
        }
        return text
    }

    private static let unknownPath = EngineError(
        code: .notFound,
        reason: "ROUTE_UNKNOWN",
        message: "No method is served at this path; paths start with /v1/providers/PROVIDER/."
    )
}
