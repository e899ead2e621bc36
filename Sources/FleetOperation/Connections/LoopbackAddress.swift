// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Tells addresses of this machine alone.
package enum LoopbackAddress {
    /// Whether an address is this machine's own.
    package static func isLoopback(_ host: String) -> Bool {
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return host == "::1" || (numbers.count == 4 && numbers.allSatisfy { $0 != nil } && numbers[0] == 127)
    }

    /// Whether a request's authority, a host with or without a port, is this machine's own name or address.
    package static func isAuthority(_ authority: String) -> Bool {
        if authority.hasPrefix("[") { return authority.hasPrefix("[::1]") }
        let host = authority.prefix { $0 != ":" }.lowercased()
        return host == "localhost" || Self.isLoopback(host)
    }
}
