// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
package import Foundation

/// Where an engine listens, checked so that a token cannot travel in the clear to another machine.
package struct EngineEndpoint: Sendable {
    private let root: SecureURL

    /// Checks an engine's URL: `https`, or `http` on this machine only.
    ///
    /// - Parameter url: Scheme, host, and optionally a port and a path.
    /// - Throws: ``TokenClientError`` with `insecureURL` or `invalidConfiguration`.
    package init(_ url: URL) throws(TokenClientError) {
        self.root = try SecureURL(checking: url)
    }

    /// The URL of a resource, each segment and query item percent-encoded on its own.
    ///
    /// - Parameters:
    ///   - segments: The path below the endpoint, not encoded.
    ///   - action: What follows the path as it is, such as `:search`.
    ///   - query: Names and values, not encoded.
    /// - Returns: The URL.
    /// - Throws: ``EngineFailure`` when the parts make no URL.
    package func url(
        _ segments: [String],
        action: String = "",
        query: [(name: String, value: String)] = []
    ) throws(EngineFailure) -> URL {
        let path = segments.map { "/\(PercentCoding.encode($0))" }.joined() + action
        let items = query.map { "\(PercentCoding.encode($0.name))=\(PercentCoding.encode($0.value))" }
        let text = self.root.text + path + (items.isEmpty ? "" : "?" + items.joined(separator: "&"))
        guard let url = URL(string: text) else {
            throw EngineFailure(
                stage: .connection, code: .invalidArgument, message: "The resource's name makes no valid URL.")
        }
        return url
    }
}
