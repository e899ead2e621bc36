// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A range of IP addresses, such as `10.0.0.0/8`, `::1` or `2001:db8::/32`.
public struct AddressRange: Hashable, Sendable, CustomStringConvertible {
    private let prefix: [UInt8]
    private let length: Int
    /// The range as it was written.
    public let description: String

    /// Reads an address, or a network with the length of its prefix.
    ///
    /// - Parameter text: The range's text.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    public init(_ text: String) throws(TokenServerError) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let bytes = Self.bytes(ofAddress: parts[0]),
            let length = parts.count == 1 ? bytes.count * 8 : Int(parts[1]),
            (0...bytes.count * 8).contains(length), Self.isZero(bytes, from: length)
        else {
            throw TokenServerError(
                code: .invalidConfiguration,
                message: "\"\(text.prefix(64))\" is no range of addresses; write it like 10.0.0.0/8 or 2001:db8::1."
            )
        }
        self.prefix = bytes
        self.length = length
        self.description = text
    }

    /// Whether an address is in the range; text that is no address is in none.
    public func contains(_ address: String) -> Bool {
        guard let bytes = Self.bytes(ofAddress: address), bytes.count == self.prefix.count else { return false }
        return Self.isZero(zip(bytes, self.prefix).map { $0 ^ $1 }, upTo: self.length)
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

    private static func isZero(_ bytes: [UInt8], from start: Int = 0, upTo end: Int = .max) -> Bool {
        bytes.indices.allSatisfy { index in
            let mask = (0..<8).reduce(UInt8(0)) { mask, bit in
                (start..<end).contains(index * 8 + bit) ? mask | 0x80 >> UInt8(bit) : mask
            }
            return bytes[index] & mask == 0
        }
    }
}
