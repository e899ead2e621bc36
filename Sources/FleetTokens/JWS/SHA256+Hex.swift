// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

extension Collection<UInt8> {
    /// The SHA-256 of the bytes in hexadecimal.
    package var sha256Hex: String {
        let digits = Array("0123456789abcdef".utf8)
        let text = SHA256.hash(self).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0xF)]] }
        return String(decoding: text, as: UTF8.self)
    }
}
