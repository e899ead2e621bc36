// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import NIOSSL
import SwiftASN1
import X509

/// The authorities that sign clients' certificates.
enum ClientAuthorities {
    /// Reads a file of them.
    ///
    /// - Parameter path: Where it is.
    /// - Returns: The authorities, each with those that signed it, up to the root.
    /// - Throws: ``ConfigurationError``.
    static func read(from path: String) throws(ConfigurationError) -> [NIOSSLCertificate] {
        guard let authorities = try? NIOSSLCertificate.fromPEMFile(path), !authorities.isEmpty else {
            throw ConfigurationError(
                "listen.tls.client_ca: \(path) holds no certificate in PEM form; name the file of the "
                    + "authorities that sign clients' certificates.")
        }
        // TLS trusts nobody without them, and its refusal tells neither side.
        if let lone = self.withoutIssuer(authorities) {
            throw ConfigurationError(
                "listen.tls.client_ca: in \(path), \(lone.subject.description.shown(upTo: 255)) is signed by "
                    + "\(lone.issuer.description.shown(upTo: 255)), which is not in the file; add the certificate of "
                    + "that authority, and so on up to the root.")
        }
        return authorities
    }

    /// The first whose issuer is not among them; none where one has a form that only TLS reads.
    private static func withoutIssuer(_ authorities: [NIOSSLCertificate]) -> Certificate? {
        guard let all = try? authorities.map({ try Certificate(derEncoded: $0.toDERBytes()) }) else { return nil }
        let subjects = Set(all.map { self.key(of: $0.subject) })
        // An authority may have a second certificate, of another root that nobody here needs.
        let signed = Set(all.filter { subjects.contains(self.key(of: $0.issuer)) }.map { self.key(of: $0.subject) })
        return all.first { !signed.contains(self.key(of: $0.subject)) }
    }

    /// A name as TLS compares it, which distinguishes neither upper and lower case nor kinds of strings.
    private static func key(of name: DistinguishedName) -> String { name.description.lowercased() }
}
