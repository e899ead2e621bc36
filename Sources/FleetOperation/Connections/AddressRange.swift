// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A range of IP addresses, such as `10.0.0.0/8`, `::1` or `2001:db8::/32`.
public struct AddressRange: Hashable, Sendable, CustomStringConvertible {
    private let network: [UInt8]
    private let mask: [UInt8]
    /// The range as it was written.
    public let description: String

    /// Reads an address, or a network with the length of its prefix.
    ///
    /// - Parameter text: The range's text.
    /// - Throws: ``ConfigurationError``.
    public init(_ text: String) throws(ConfigurationError) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let bytes = Self.bytes(ofAddress: parts[0]),
            let length = parts.count == 1 ? bytes.count * 8 : Int(parts[1]),
            (0...bytes.count * 8).contains(length)
        else {
            throw Self.invalid(text)
        }
        let mask = bytes.indices.map { index in
            // The bits of this byte that belong to the network's prefix.
            ~(UInt8.max >> UInt8(min(8, max(0, length - index * 8))))
        }
        guard zip(bytes, mask).allSatisfy({ $0 & ~$1 == 0 }) else { throw Self.invalid(text) }
        self.network = bytes
        self.mask = mask
        self.description = text
    }

    /// Whether an address is in the range; text that is no address is in none.
    public func contains(_ address: String) -> Bool {
        guard let bytes = Self.bytes(ofAddress: address), bytes.count == self.network.count else { return false }
        return zip(zip(bytes, self.mask), self.network).allSatisfy { $0.0 & $0.1 == $1 }
    }

    /// Whether every address of its family is in the range, however its length is written.
    package var isEverything: Bool { self.mask.allSatisfy { $0 == 0 } }

    /// Whether a text is one IP address.
    package static func isAddress(_ text: String) -> Bool { self.bytes(ofAddress: text) != nil }

    /// What tells one host from another: an IPv4 address, or the first 64 bits of an IPv6 one; empty for anything else.
    package static func host(of address: String?) -> [UInt8] {
        guard let bytes = address.flatMap(self.bytes(ofAddress:)) else { return [] }
        return Array(bytes.prefix(8))
    }

    private static func invalid(_ text: String) -> ConfigurationError {
        ConfigurationError(
            "\"\(text.prefix(64))\" is no range of addresses; write it like 10.0.0.0/8 or 2001:db8::1."
        )
    }

    /// An address's bytes; an IPv4 address inside an IPv6 one is itself.
    private static func bytes(ofAddress text: String) -> [UInt8]? {
        func read(_ family: Int32, count: Int) -> [UInt8]? {
            var bytes = [UInt8](repeating: 0, count: count)
            return inet_pton(family, text, &bytes) == 1 ? bytes : nil
        }
        if let bytes = read(AF_INET, count: 4) { return bytes }
        guard let bytes = read(AF_INET6, count: 16) else { return nil }
        let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
        return bytes.starts(with: mapped) ? Array(bytes.suffix(4)) : bytes
    }
}
