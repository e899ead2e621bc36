// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
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
        var segments = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map(Substring.init).dropFirst()
        guard segments.count == 4 || segments.count == 5, segments.removeFirst() == "v1",
            segments.removeFirst() == "providers", !segments.contains("")
        else { throw Self.unknownPath }

        let action = Self.cutAction(from: &segments)
        let hasID = segments.count == 3
        let collection = String(segments[segments.startIndex + 1])
        guard let rules = HTTPRule.byPath[collection + (hasID ? "/*" : "") + action] else { throw Self.unknownPath }
        guard let rule = rules.first(where: { $0.verb == verb }) else {
            let verbs = rules.map(\.verb.rawValue).joined(separator: " or ")
            throw EngineError(
                code: .notFound,
                reason: "ROUTE_UNKNOWN",
                message: "\(verb.rawValue.prefix(16)) is not served at this path; use \(verbs)."
            )
        }
        self.rule = rule
        do throws(EngineError) {
            let provider = try Self.decode(segments[segments.startIndex])
            self.name =
                hasID
                ? try "providers/\(provider)/\(collection)/\(Self.decode(segments[segments.startIndex + 2]))"
                : "providers/\(provider)"
            self.fault = nil
        } catch {
            self.name = "providers/\(segments.joined(separator: "/"))"
            self.fault = error
        }
    }

    /// Cuts a custom verb such as `:search` off the last segment.
    ///
    /// A colon before anything else is part of an id, which the engine refuses as an id.
    private static func cutAction(from segments: inout ArraySlice<Substring>) -> String {
        guard let last = segments.last, let colon = last.utf8.lastIndex(of: UInt8(ascii: ":")),
            self.actions.contains(String(last[colon...]))
        else { return "" }
        segments[segments.endIndex - 1] = last[..<colon]
        return String(last[colon...])
    }

    /// The custom verbs of the table, and one that the API had once: a call of it is no call of UpdateVehicle.
    private static let actions = Set(
        HTTPRule.all.compactMap { rule in rule.path.firstIndex(of: ":").map { String(rule.path[$0...]) } }
            + [":updateLocation"]
    )

    private static func decode(_ segment: Substring) throws(EngineError) -> String {
        guard let text = PercentCoding.decode(segment) else {
            throw .invalidArgument("A segment of the path is not percent-encoded UTF-8; encode each id on its own.")
        }
        guard !text.utf8.contains(UInt8(ascii: "/")) else {
            throw .invalidArgument("An id in the path holds an encoded slash; none of / : ? , # is allowed in ids.")
        }
        return text
    }

    private static let unknownPath = EngineError(
        code: .notFound,
        reason: "ROUTE_UNKNOWN",
        message: "No method is served at this path; paths start with /v1/providers/PROVIDER/."
    )
}
