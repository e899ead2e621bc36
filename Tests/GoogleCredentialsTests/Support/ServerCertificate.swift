// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import Foundation
import NIOSSL
import SwiftASN1
import X509

/// A server's certificate, signed by its own key, and the file of it that a client may trust.
final class ServerCertificate {
    enum KeyKind: CaseIterable {
        case rsa, p256, p384, p521, ed25519

        func key() throws -> Certificate.PrivateKey {
            switch self {
            case .rsa: .init(try _RSA.Signing.PrivateKey(keySize: .bits2048))
            case .p256: .init(P256.Signing.PrivateKey())
            case .p384: .init(P384.Signing.PrivateKey())
            case .p521: .init(P521.Signing.PrivateKey())
            case .ed25519: .init(Curve25519.Signing.PrivateKey())
            }
        }
    }

    /// Where the certificate is, in PEM form.
    let file: String
    /// What a server opens connections with.
    let tls: TLSConfiguration

    /// Makes one.
    ///
    /// - Parameters:
    ///   - kind: The kind of its key.
    ///   - address: The IPv4 address that it is for.
    ///   - end: When it ends, some minutes after its begin at least.
    /// - Throws: When it cannot be made or written.
    init(_ kind: KeyKind = .p256, for address: [UInt8] = [127, 0, 0, 1], until end: Date = Date() + 3600) throws {
        let key = try kind.key()
        let name = try DistinguishedName { CommonName("server") }
        let certificate = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: key.publicKey, notValidBefore: end - 7200,
            notValidAfter: end, issuer: name, subject: name,
            extensions: .init {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                SubjectAlternativeNames([.ipAddress(ASN1OctetString(contentBytes: address[...]))])
            },
            issuerPrivateKey: key)
        let text = try certificate.serializeAsPEM().pemString
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).pem")
        try Data(text.utf8).write(to: file)
        self.file = file.path(percentEncoded: false)
        self.tls = .makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(text.utf8)).map { .certificate($0) },
            privateKey: .privateKey(
                try NIOSSLPrivateKey(bytes: Array(try key.serializeAsPEM().pemString.utf8), format: .pem)))
    }

    deinit { try? FileManager.default.removeItem(atPath: self.file) }
}
