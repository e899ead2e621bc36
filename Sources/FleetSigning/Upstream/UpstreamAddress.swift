// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Whether an address keeps its content to itself on the way: HTTPS, or this machine.
package enum UpstreamAddress {
    /// Whether a URL is one that secrets and keys may travel over.
    package static func isAcceptable(_ url: String) -> Bool {
        guard url.utf8.count <= 2048, url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let scheme = url.firstRange(of: "://")
        else { return false }
        let authority = url[scheme.upperBound...].prefix { !"/?#".contains($0) }
        guard !authority.isEmpty, !authority.contains("@"), !url.contains("#") else { return false }
        switch url[..<scheme.lowerBound].lowercased() {
        case "https": return true
        case "http": return LoopbackHost.isLoopback(authority: authority)
        default: return false
        }
    }

    /// A URL as logs and messages may tell it: a query often holds a key.
    package static func withoutQuery(_ url: String) -> String { String(url.prefix { $0 != "?" }) }
}
