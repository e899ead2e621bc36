// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
public import Foundation

/// Where tokens come from: the address of a token server, its paths, and the keys of its answers.
public struct TokenEndpoint: Sendable {
    /// The longest answer that is read.
    public static let maximumAnswerBytes = 64 * 1024

    /// Where under the server's address the token of one subject is found.
    public struct Route: Sendable {
        /// The path, one element per segment; each is percent-encoded, so an id never becomes two.
        public var segments: [String]
        /// The query; names and values are percent-encoded.
        public var query: [(name: String, value: String)]

        /// Makes a route.
        public init(segments: [String], query: [(name: String, value: String)] = []) {
            self.segments = segments
            self.query = query
        }
    }

    private let server: SecureURL
    private let route: @Sendable (TokenSubject) throws(TokenClientError) -> Route?
    private let format: @Sendable (TokenSubject) -> TokenAnswerFormat

    /// Describes a server of your own by its routes.
    ///
    /// - Parameters:
    ///   - server: The server's address; `https`, or `http` to this machine.
    ///   - answer: The keys of the answer to each subject.
    ///   - route: Where each subject's token is found, or `nil` when the server has none for it.
    /// - Throws: ``TokenClientError`` with `insecureURL` or `invalidConfiguration`.
    public init(
        server: URL,
        answer: @escaping @Sendable (TokenSubject) -> TokenAnswerFormat,
        route: @escaping @Sendable (TokenSubject) -> Route?
    ) throws(TokenClientError) {
        try self.init(server: server, checkedRoute: route, answer: answer)
    }

    /// Describes a server by routes, or by why there is none for a subject.
    init(
        server: URL,
        checkedRoute route: @escaping @Sendable (TokenSubject) throws(TokenClientError) -> Route?,
        answer: @escaping @Sendable (TokenSubject) -> TokenAnswerFormat
    ) throws(TokenClientError) {
        self.server = try SecureURL(checking: server)
        self.format = answer
        self.route = route
    }

    /// The keys of the answer for a subject.
    public func answerFormat(for subject: TokenSubject) -> TokenAnswerFormat {
        self.format(subject)
    }

    /// The address of a subject's token.
    ///
    /// - Parameter subject: Whose token is asked for.
    /// - Returns: The address, percent-encoded; it holds the subject's id and nothing secret.
    /// - Throws: ``TokenClientError`` with `invalidConfiguration` when the server has no token for the subject.
    public func url(for subject: TokenSubject) throws(TokenClientError) -> URL {
        guard let route = try self.route(subject) else {
            throw TokenClientError(
                code: .invalidConfiguration,
                message:
                    "This token endpoint has no route for \(subject.kind)\(subject.task == nil ? "" : " with a task")"
                    + "; choose another preset, or describe the server's own."
            )
        }
        guard route.segments.allSatisfy({ !["", ".", ".."].contains($0) }) else {
            throw TokenClientError(
                code: .invalidConfiguration,
                message: "The route for \(subject.kind) has an empty or relative path segment; give each one a name."
            )
        }
        var text = self.server.text
        for segment in route.segments { text += "/" + PercentCoding.encode(segment) }
        for (index, item) in route.query.enumerated() {
            text += (index == 0 ? "?" : "&") + PercentCoding.encode(item.name) + "=" + PercentCoding.encode(item.value)
        }
        guard let url = URL(string: text) else {
            throw TokenClientError(
                code: .invalidConfiguration, message: "The route for \(subject.kind) does not give a URL.")
        }
        return url
    }
}
