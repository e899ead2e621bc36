// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
public import FleetTokens
import Foundation
import SwiftASN1

/// An RSA public key that checks RS256 signatures.
///
/// Only keys of at least 2048 bits with a sound public exponent are accepted (RFC 8725 §3.4, RFC 7518 §3.3), and none of
/// the generator whose keys can be factored (CVE-2017-15361).
public struct RSAPublicKey: TokenKey {
    /// The key's id as tokens name it.
    public let id: String
    /// The account that the key belongs to; `nil` where its source does not say.
    public let account: TrustedAccount?

    /// Whether the id is only what its reader calls it, and tokens may name it otherwise.
    let isUnnamed: Bool

    /// When the certificate that the key came in ends; `nil` where it came in none.
    let end: Date?

    private let key: _RSA.Signing.PublicKey

    init(
        _ key: _RSA.Signing.PublicKey, id: String, account: TrustedAccount?, isUnnamed: Bool = false, end: Date? = nil
    ) throws(SigningError) {
        func invalid(_ problem: String) -> SigningError {
            SigningError(code: .invalidKey, message: "The key \"\(id.shown(upTo: 64))\" \(problem).")
        }
        guard key.keySizeInBits >= 2048 else { throw invalid("has fewer than 2048 bits") }
        let primitives = try? key.getKeyPrimitives()
        guard let exponent = primitives?.publicExponent, (exponent.last ?? 0) & 1 == 1,
            exponent.drop(while: { $0 == 0 }).elementsEqual([3]) || exponent.drop(while: { $0 == 0 }).count >= 3
        else { throw invalid("has an unsound public exponent; 65537 is usual") }
        guard let modulus = primitives?.modulus, !FaultyGenerator.made(modulus) else {
            throw invalid("was made by a faulty generator and can be factored (CVE-2017-15361); make another one")
        }
        self.key = key
        self.id = id
        self.account = account
        self.isUnnamed = isUnnamed
        self.end = end
    }

    /// Reads a PEM text: a public key, or an X.509 certificate.
    ///
    /// - Throws: ``SigningError`` with ``SigningError/Code/invalidKey``.
    public init(pem: String, id: String, account: TrustedAccount? = nil) throws(SigningError) {
        try self.init(pem: pem, id: id, account: account, isUnnamed: false)
    }

    init(pem: String, id: String, account: TrustedAccount? = nil, isUnnamed: Bool) throws(SigningError) {
        let key: _RSA.Signing.PublicKey
        var end: Date?
        let name = id.shown(upTo: 64)
        if pem.contains("BEGIN CERTIFICATE") {
            let certificate = try CertificateReader.rsaKey(ofPEM: pem, id: id)
            key = certificate.key
            end = certificate.end
        } else {
            guard !Self.isForPSS(pem) else {
                throw SigningError(
                    code: .invalidKey,
                    message: "The key \"\(name)\" is for RSASSA-PSS signatures alone (PS256), and Fleet Engine takes "
                        + "RS256; use a key of the kind rsaEncryption.")
            }
            do {
                key = try _RSA.Signing.PublicKey(pemRepresentation: pem)
            } catch {
                throw SigningError(
                    code: .invalidKey,
                    message: "The key \"\(name)\" is not an RSA public key of at least 2048 bits in PEM form.",
                    cause: error
                )
            }
        }
        try self.init(key, id: id, account: account, isUnnamed: isUnnamed, end: end)
    }

    /// Whether a PEM public key is marked for RSASSA-PSS, so that no other signature is to be checked with it (RFC 4055
    /// §1.2, RFC 8725 §3.1).
    private static func isForPSS(_ pem: String) -> Bool {
        func first(of node: ASN1Node?) -> ASN1Node? {
            guard case .constructed(let nodes)? = node?.content else { return nil }
            return nodes.first { _ in true }
        }
        // SubjectPublicKeyInfo begins with its AlgorithmIdentifier, and that with the identifier of the algorithm.
        guard let document = try? PEMDocument(pemString: pem), let key = try? DER.parse(document.derBytes),
            let identifier = first(of: first(of: key))
        else { return false }
        return (try? ASN1ObjectIdentifier(derEncoded: identifier)) == ASN1ObjectIdentifier.AlgorithmIdentifier.rsaPSS
    }

    /// Whether the RS256 signature fits the message.
    public func isValidSignature(_ signature: [UInt8], for message: [UInt8]) -> Bool {
        self.key.isValidSignature(
            _RSA.Signing.RSASignature(rawRepresentation: signature),
            for: message.withUnsafeBytes(Crypto.SHA256.hash(bytes:)),
            padding: .insecurePKCS1v1_5
        )
    }

    /// The key under another account's name.
    func bound(to account: TrustedAccount) throws(SigningError) -> Self {
        try Self(self.key, id: self.id, account: account, isUnnamed: self.isUnnamed, end: self.end)
    }

    /// Whether the certificate that the key came in has ended.
    func hasEnded(at time: Date) -> Bool { self.end.map { $0 < time } ?? false }

    /// Whether two are one key with one id, of one account, for the same time.
    func isSame(as other: Self) -> Bool {
        self.id == other.id && self.account == other.account && self.end == other.end
            && self.key.derRepresentation == other.key.derRepresentation
    }

    /// The modulus and exponent, big-endian without leading zeros, as a JWK holds them.
    package var primitives: (modulus: [UInt8], exponent: [UInt8])? {
        guard let primitives = try? self.key.getKeyPrimitives() else { return nil }
        return (
            Array(primitives.modulus.drop { $0 == 0 }),
            Array(primitives.publicExponent.drop { $0 == 0 })
        )
    }
}
