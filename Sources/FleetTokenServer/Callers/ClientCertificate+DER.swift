// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FleetTokens
import SwiftASN1
import X509

extension ClientCertificate {
    /// Reads the names of a certificate that TLS has verified, and when it is valid.
    ///
    /// The common name alone is not one of them: it says nothing about what kind of name it is (RFC 9525 §2). The whole
    /// subject is, for authorities that give no alternative names.
    ///
    /// - Parameter der: The certificate's DER form.
    /// - Throws: ``CallerRefusal`` when it cannot be read.
    public init(der: [UInt8]) throws(CallerRefusal) {
        let certificate: Certificate
        let names: SubjectAlternativeNames?
        do {
            certificate = try Certificate(derEncoded: der)
            names = try certificate.extensions.subjectAlternativeNames
        } catch {
            throw CallerRefusal(.malformed, "The client's certificate cannot be read.")
        }
        var uris: [String] = []
        var dnsNames: [String] = []
        for name in names ?? SubjectAlternativeNames() {
            switch name {
            case .uniformResourceIdentifier(let uri): uris.append(uri)
            case .dnsName(let name): dnsNames.append(name)
            default: break
            }
        }
        let digest = SHA256.hash(data: der)
        self.init(
            uris: uris, dnsNames: dnsNames,
            subject: certificate.subject.isEmpty ? nil : SubjectName(certificate.subject).text,
            fingerprint: digest.hexadecimal, notBefore: certificate.notValidBefore,
            notAfter: certificate.notValidAfter)
    }
}
