// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Tells hosts that are this machine, as URLs and `Host` headers write them.
package enum LoopbackHost {
    /// Whether a host is this machine: `localhost`, `127.0.0.0/8` as four decimal numbers, or `::1`, also in brackets.
    package static func isLoopback(_ host: some StringProtocol) -> Bool {
        let host = host.lowercased()
        if host == "localhost" || host == "::1" || host == "[::1]" { return true }
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false).map { part in
            // To some, digits after a zero are octal, so that 0127 is 87.
            part == "0" || part.utf8.allSatisfy { (0x30...0x39).contains($0) } && !part.hasPrefix("0")
                ? UInt8(part) : nil
        }
        return numbers.count == 4 && numbers.allSatisfy { $0 != nil } && numbers[0] == 127
    }

    /// Whether an authority, a host with or without a port, is this machine.
    package static func isLoopback(authority: some StringProtocol) -> Bool {
        let end = authority.hasSuffix("]") ? nil : authority.lastIndex(of: ":")
        return Self.isLoopback(authority[..<(end ?? authority.endIndex)])
    }
}
