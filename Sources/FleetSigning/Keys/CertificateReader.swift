// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import CryptoExtras
import FleetTokens
import Foundation
import SwiftASN1
import X509

/// Takes the public key out of an X.509 certificate, the form in which Google publishes service-account keys.
///
/// The certificate is only the key's envelope: it is self-signed, and trust comes from where it was fetched.
enum CertificateReader {
    /// Whether the certificate is to be used at a time; a text that is none is left to ``rsaKey(ofPEM:id:)``.
    static func isValid(_ pem: String, at time: Date) -> Bool {
        guard let certificate = try? Certificate(pemEncoded: pem) else { return true }
        return certificate.notValidBefore <= time && time <= certificate.notValidAfter
    }

    /// The key, and when the certificate ends.
    static func rsaKey(ofPEM pem: String, id: String) throws(SigningError) -> (key: _RSA.Signing.PublicKey, end: Date) {
        do {
            let certificate = try Certificate(pemEncoded: pem)
            if let key = _RSA.Signing.PublicKey(certificate.publicKey) { return (key, certificate.notValidAfter) }
        } catch {
            throw SigningError(
                code: .invalidKey,
                message: "The key \"\(id.shown(upTo: 64))\" is not an X.509 certificate in PEM form.",
                cause: error
            )
        }
        throw SigningError(
            code: .invalidKey,
            message:
                "The certificate of the key \"\(id.shown(upTo: 64))\" holds no RSA key; Fleet Engine takes RS256 only."
        )
    }
}
