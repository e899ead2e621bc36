// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

extension Collection<UInt8> {
    /// The SHA-256 of the bytes in hexadecimal.
    package var sha256Hex: String {
        SHA256.hash(self).map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }
}
