// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Tells addresses of this machine alone.
package enum LoopbackAddress {
    private static let ranges = ["127.0.0.0/8", "::1"].compactMap { try? AddressRange($0) }

    /// Whether an address is this machine's own; an IPv4 address inside an IPv6 one is itself.
    package static func isLoopback(_ host: String) -> Bool { self.ranges.contains { $0.contains(host) } }

    /// Whether a request's authority, a host with or without a port, is this machine's own name or address.
    package static func isAuthority(_ authority: String) -> Bool {
        if authority.hasPrefix("[") { return authority.hasPrefix("[::1]") }
        let host = authority.prefix { $0 != ":" }.lowercased()
        return host == "localhost" || Self.isLoopback(host)
    }
}
