// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

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
        guard scheme == "https" || (scheme == "http" && Self.isLoopback(host)) else {
            throw TokenClientError(
                code: .insecureURL,
                message: "Tokens would travel to \(host) over \(scheme); use https (http only reaches this machine)."
            )
        }
        var text = parts.url?.absoluteString ?? url.absoluteString
        while text.hasSuffix("/") { text.removeLast() }
        self.text = text
    }

    /// Whether a host is this machine: `localhost`, `127.0.0.0/8` as four decimal numbers, or `::1`.
    static func isLoopback(_ host: String) -> Bool {
        let host = host.lowercased()
        if host == "localhost" || host == "::1" || host == "[::1]" { return true }
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false).map { part in
            part.utf8.allSatisfy { (0x30...0x39).contains($0) } ? UInt8(part) : nil
        }
        return numbers.count == 4 && numbers.allSatisfy { $0 != nil } && numbers[0] == 127
    }
}
