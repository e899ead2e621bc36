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

    /// What a URL must be, for messages to go on with.
    package static let rule = "https, or http on this machine, and hold no user and no fragment"

    /// A URL as logs and messages may tell it, without a user and a query, which may hold a password or a key.
    package static func shown(_ url: String) -> String {
        let text = url.prefix { $0 != "?" }
        guard let scheme = text.firstRange(of: "://") else { return String(text) }
        let authority = text[scheme.upperBound...].prefix { !"/#".contains($0) }
        guard let user = authority.lastIndex(of: "@") else { return String(text) }
        return String(text[..<scheme.upperBound] + text[text.index(after: user)...])
    }
}
