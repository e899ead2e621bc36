// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// A path with placeholders, taken apart when it is made.
struct TokenPathTemplate: Sendable {
    private enum Part: Hashable, Sendable {
        case text(String)
        case kind, id, task
    }

    private let segments: [[Part]]

    init(_ path: String) throws(TokenClientError) {
        var segments: [[Part]] = []
        for segment in path.split(separator: "/") {
            var parts: [Part] = []
            var rest = segment
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
            segments.append(parts)
        }
        guard !segments.isEmpty else { throw Self.error("The path is empty; write it as auth/{kind}/{id}.") }
        self.segments = segments
    }

    func route(for subject: TokenSubject) -> TokenEndpoint.Route? {
        // A server that is not told the id or the task can only guess whose token to mint.
        let needed: [(Part, String?)] = [(.id, subject.id), (.task, subject.task?.value)]
        for (part, value) in needed where self.segments.joined().contains(part) != (value != nil) { return nil }
        return TokenEndpoint.Route(
            segments: self.segments.map { parts in
                parts.map { part in
                    switch part {
                    case .text(let text): text
                    case .kind: subject.kind
                    case .id: subject.id ?? ""
                    case .task: subject.task?.value ?? ""
                    }
                }.joined()
            }
        )
    }

    private static func error(_ message: String) -> TokenClientError {
        TokenClientError(code: .invalidConfiguration, message: message)
    }
}
