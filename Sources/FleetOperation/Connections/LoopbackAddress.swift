// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Tells IP addresses of this machine alone, as sockets have them; `LoopbackHost` tells the hosts of URLs.
package enum LoopbackAddress {
    private static let ranges = ["127.0.0.0/8", "::1"].compactMap { try? AddressRange($0) }

    /// Whether an address is this machine's own; an IPv4 address inside an IPv6 one is itself.
    package static func isLoopback(_ host: String) -> Bool { self.ranges.contains { $0.contains(host) } }
}
