// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import Foundation

/// Where an engine listens, checked so that a token cannot travel in the clear to another machine.
package struct EngineEndpoint: Hashable, Sendable {
    private let root: String

    /// Checks an engine's URL: `https`, or `http` on this machine only.
    ///
    /// - Parameter url: Scheme, host, and optionally a port and a path.
    /// - Throws: ``TokenClientError`` with `insecureURL` or `invalidConfiguration`.
    package init(_ url: URL) throws(TokenClientError) {
        guard let parts = URLComponents(url: url, resolvingAgainstBaseURL: true), let host = parts.host, !host.isEmpty,
            parts.user == nil, parts.password == nil, parts.query == nil, parts.fragment == nil
        else {
            throw TokenClientError(
                code: .invalidConfiguration,
                message: "The engine's URL needs a scheme and a host, and has no user, query or fragment; "
                    + "use a URL such as https://fleetengine.googleapis.com."
            )
        }
        switch parts.scheme?.lowercased() {
        case "https": break
        case "http" where Self.isLoopback(host): break
        default:
            throw TokenClientError(
                code: .insecureURL,
                message: "A token would travel unprotected to \(host); use https, or http on 127.0.0.1 for tests."
            )
        }
        let text = url.absoluteString
        self.root = text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    /// The URL of a resource, each segment and query item percent-encoded on its own.
    ///
    /// - Parameters:
    ///   - segments: The path below the endpoint, not encoded.
    ///   - query: Names and values, not encoded.
    /// - Returns: The URL.
    /// - Throws: ``EngineFailure`` when the parts make no URL.
    package func url(
        _ segments: [String],
        query: [(name: String, value: String)] = []
    ) throws(EngineFailure) -> URL {
        let path = segments.map { "/" + Self.encoded($0) }.joined()
        let items = query.map { "\(Self.encoded($0.name))=\(Self.encoded($0.value))" }.joined(separator: "&")
        guard let url = URL(string: self.root + path + (items.isEmpty ? "" : "?" + items)) else {
            throw EngineFailure(
                stage: .connection, code: .invalidArgument, message: "The resource's name makes no valid URL.")
        }
        return url
    }

    /// Percent-encodes everything but the unreserved characters of RFC 3986.
    static func encoded(_ text: String) -> String {
        let hex = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default:
                bytes += [UInt8(ascii: "%"), hex[Int(byte >> 4)], hex[Int(byte & 0xF)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isLoopback(_ host: String) -> Bool {
        if ["localhost", "::1", "[::1]"].contains(host.lowercased()) { return true }
        let octets = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return octets.count == 4 && octets[0] == 127 && !octets.contains(nil)
    }
}
