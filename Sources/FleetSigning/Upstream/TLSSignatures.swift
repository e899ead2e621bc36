// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// How the other side of a TLS connection may sign with the key of its certificate.
package enum TLSSignatures {
    /// Numbers of RFC 8446, section 4.2.3: what BoringSSL takes by itself, and P-521 and Ed25519, with which it only signs.
    package static let accepted: [UInt16] = [
        0x0403,  // ECDSA, P-256
        0x0804,  // RSA-PSS, SHA-256
        0x0401,  // RSA, SHA-256
        0x0503,  // ECDSA, P-384
        0x0805,  // RSA-PSS, SHA-384
        0x0501,  // RSA, SHA-384
        0x0603,  // ECDSA, P-521
        0x0807,  // Ed25519
        0x0806,  // RSA-PSS, SHA-512
        0x0601,  // RSA, SHA-512
        0x0201,  // RSA, SHA-1: TLS 1.2 alone
    ]
}
