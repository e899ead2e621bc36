// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// The scheme `Bearer` of the `Authorization` header (RFC 6750, section 2.1).
package enum BearerScheme {
    private static let space = UInt8(ascii: " ")
    private static let name = "bearer"

    /// What follows the scheme, without the spaces round it; it may be more than one word, which no credential is.
    ///
    /// - Parameter value: The value of the header.
    /// - Returns: `nil` for another scheme, or where nothing follows.
    package static func credential(in value: String) -> Substring? {
        // By bytes: a token is too long to look for the borders of its characters at each call.
        let bytes = value.utf8
        guard let start = bytes.firstIndex(where: { $0 != self.space }),
            let end = bytes[start...].firstIndex(of: self.space),
            bytes[start..<end].elementsEqual(self.name.utf8, by: { $0 | 0x20 == $1 }),
            let first = bytes[end...].firstIndex(where: { $0 != self.space }),
            let last = bytes.lastIndex(where: { $0 != self.space })
        else { return nil }
        return value[first...last]
    }

    /// Whether what follows the scheme is more than one word.
    package static func isDivided(_ credential: Substring) -> Bool {
        credential.utf8.anyByte { $0 == self.space }
    }
}
