// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
package import Foundation

/// The address of a server that may be sent a token or a credential: `https`, or `http` to this machine only.
package struct SecureURL: Sendable {
    /// The address, without a trailing slash, query or fragment.
    package let text: String

    /// Checks an address.
    ///
    /// - Parameter url: The address as the app was configured with it.
    /// - Throws: ``TokenClientError`` with `insecureURL` or `invalidConfiguration`.
    package init(checking url: URL) throws(TokenClientError) {
        guard let parts = URLComponents(url: url, resolvingAgainstBaseURL: true),
            let scheme = parts.scheme?.lowercased(),
            let host = parts.host, !host.isEmpty
        else {
            throw TokenClientError(
                code: .invalidConfiguration,
                message: "The server's address is not an absolute URL; write it as https://host/path."
            )
        }
        guard parts.user == nil, parts.password == nil, parts.query == nil, parts.fragment == nil else {
            throw TokenClientError(
                code: .invalidConfiguration,
                message: "The address of \(host) holds a user, a query or a fragment; remove them, as URLs are logged."
            )
        }
        guard scheme == "https" || (scheme == "http" && LoopbackHost.isLoopback(host)) else {
            throw TokenClientError(
                code: .insecureURL,
                message: "Tokens would travel to \(host) over \(scheme); use https (http only reaches this machine)."
            )
        }
        var text = parts.url?.absoluteString ?? url.absoluteString
        while text.hasSuffix("/") { text.removeLast() }
        self.text = text
    }
}
