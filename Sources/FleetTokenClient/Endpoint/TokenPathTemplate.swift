// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// A path with placeholders and perhaps a query, taken apart when it is made.
struct TokenPathTemplate: Sendable {
    private enum Part: Hashable, Sendable {
        case text(String)
        case kind, id, task
    }

    private let path: String
    private var segments: [[Part]] = []
    private var query: [(name: String, value: [Part])] = []

    init(_ path: String) throws(TokenClientError) {
        self.path = path
        guard !path.contains("#") else {
            throw Self.error("The path \"\(path)\" holds a #, but servers never get what follows one; leave it out.")
        }
        guard !path.contains("%") else {
            throw Self.error("The path \"\(path)\" holds a %; write characters as they are, they are encoded for you.")
        }
        let halves = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        for segment in halves[0].split(separator: "/") {
            self.segments.append(try Self.parts(of: segment, in: path))
        }
        guard !self.segments.isEmpty else {
            throw Self.error("The path is empty; write it as auth/{kind}/{id} or token?vehicleId={id}.")
        }
        guard halves.count == 2 else { return }
        for item in halves[1].split(separator: "&", omittingEmptySubsequences: false) {
            let sides = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2, !sides[0].isEmpty, !sides[0].contains("{") else {
                throw Self.error(
                    "The path \"\(path)\" has \"\(item)\" in its query; write each item as name=value, such as "
                        + "vehicleId={id}.")
            }
            self.query.append((String(sides[0]), try Self.parts(of: sides[1], in: path)))
        }
    }

    private static func parts(of text: Substring, in path: String) throws(TokenClientError) -> [Part] {
        var parts: [Part] = []
        var rest = text
        while let open = rest.firstIndex(of: "{") {
            guard let close = rest[open...].firstIndex(of: "}") else {
                throw Self.error("The path \"\(path)\" has a { without a }.")
            }
            if open > rest.startIndex { parts.append(.text(String(rest[..<open]))) }
            switch rest[open...close] {
            case "{kind}": parts.append(.kind)
            case "{id}": parts.append(.id)
            case "{task}": parts.append(.task)
            case let other: throw Self.error("The path \"\(path)\" names \(other); use {kind}, {id} and {task}.")
            }
            rest = rest[rest.index(after: close)...]
        }
        if !rest.isEmpty { parts.append(.text(String(rest))) }
        return parts
    }

    func route(for subject: TokenSubject) throws(TokenClientError) -> TokenEndpoint.Route {
        // A server that is not told the id or the task can only guess whose token to mint.
        try self.check("{id}", .id, isFor: subject.id != nil, subject)
        try self.check("{task}", .task, isFor: subject.task != nil, subject)
        return TokenEndpoint.Route(
            segments: self.segments.map { Self.text($0, for: subject) },
            query: self.query.map { (name: $0.name, value: Self.text($0.value, for: subject)) }
        )
    }

    /// Checks that a placeholder is in the path where a subject has a value for it, and only there.
    private func check(
        _ placeholder: String, _ part: Part, isFor hasValue: Bool, _ subject: TokenSubject
    ) throws(TokenClientError) {
        let isUsed = self.segments.joined().contains(part) || self.query.contains { $0.value.contains(part) }
        guard isUsed != hasValue else { return }
        let problem = "The path \"\(self.path)\" has \(hasValue ? "no " : "")\(placeholder)"
        throw Self.error(
            hasValue
                ? "\(problem), which tells the server whose \(subject.kind) token is asked for; put it in, or, in Swift, "
                    + "describe the server's routes by TokenEndpoint(server:answer:route:)."
                : "\(problem), for which this \(subject.kind) has no value; ask for such tokens by a provider with a path "
                    + "of its own, or, in Swift, describe the server's routes by TokenEndpoint(server:answer:route:).")
    }

    private static func text(_ parts: [Part], for subject: TokenSubject) -> String {
        parts.map { part in
            switch part {
            case .text(let text): text
            case .kind: subject.kind
            case .id: subject.id ?? ""
            case .task: subject.task?.value ?? ""
            }
        }.joined()
    }

    private static func error(_ message: String) -> TokenClientError {
        TokenClientError(code: .invalidConfiguration, message: message)
    }
}
