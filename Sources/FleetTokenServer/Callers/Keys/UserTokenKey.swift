// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import FleetSigning
import FleetTokens
import Foundation

/// An identity provider's public key; it fixes the one algorithm that it checks (RFC 8725 §3.1).
struct UserTokenKey: Sendable {
    private enum Material: Sendable {
        case rsa(_RSA.Signing.PublicKey)
        case p256(P256.Signing.PublicKey)
        case ed25519(Curve25519.Signing.PublicKey)
    }

    let id: String
    private let material: Material

    var algorithm: UserTokenAlgorithm {
        switch self.material {
        case .rsa: .rs256
        case .p256: .es256
        case .ed25519: .edDSA
        }
    }

    /// Reads one entry of a key set, or is `nil` for a key that cannot check users' tokens.
    ///
    /// Keys of other kinds, for encryption, without an id, too weak, of a faulty generator, or published with their private
    /// half are no use.
    init?(_ members: JSONObject) {
        guard let kind = JWKMembers.Kind(of: members), let entry = try? JWKMembers(members, kind: kind),
            let id = entry.id, let material = Self.material(of: entry, kind)
        else { return nil }
        self.id = id
        self.material = material
    }

    /// Whether the signature fits the message.
    func isValidSignature(_ signature: [UInt8], for message: [UInt8]) -> Bool {
        switch self.material {
        case .rsa(let key):
            return key.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: signature),
                for: Crypto.SHA256.hash(data: message), padding: .insecurePKCS1v1_5)
        case .p256(let key):
            guard signature.count == 64, let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
            else { return false }
            return key.isValidSignature(signature, for: message)
        case .ed25519(let key):
            return signature.count == 64 && key.isValidSignature(signature, for: message)
        }
    }

    private static func material(of entry: JWKMembers, _ kind: JWKMembers.Kind) -> Material? {
        func bytes(_ name: String, count: ClosedRange<Int>) -> [UInt8]? {
            entry.bytes(name).flatMap { count.contains($0.count) ? $0 : nil }
        }
        switch kind {
        case .rsa:
            // 2048 to 8192 bits; the exponents that are sound are few bytes long.
            guard let modulus = bytes("n", count: 256...1025), let exponent = bytes("e", count: 1...4),
                let low = exponent.last, low & 1 == 1, exponent.count > 1 || low >= 3,
                let key = try? _RSA.Signing.PublicKey(n: modulus, e: exponent),
                (2048...8192).contains(key.keySizeInBits), !FaultyGenerator.made(modulus)
            else { return nil }
            return .rsa(key)
        case .p256:
            guard let x = bytes("x", count: 32...32), let y = bytes("y", count: 32...32),
                let key = try? P256.Signing.PublicKey(x963Representation: [0x04] + x + y)
            else { return nil }
            return .p256(key)
        case .ed25519:
            guard let x = bytes("x", count: 32...32),
                let key = try? Curve25519.Signing.PublicKey(rawRepresentation: x)
            else { return nil }
            return .ed25519(key)
        }
    }
}

/// The keys of an identity provider, as it publishes them.
struct UserTokenKeySet: Sendable {
    static let maximumKeys = 64

    let keys: [UserTokenKey]

    /// Reads a JSON Web Key Set; keys of no use are left out.
    ///
    /// - Parameter bytes: The JSON text.
    /// - Throws: `KeySetError` when it is no key set, or has no key that is of use.
    init(parsing bytes: [UInt8]) throws(KeySetError) {
        guard let entries = (try? JSONValue(parsing: bytes))?.object?["keys"]?.array else {
            throw KeySetError(message: "The key set is not a JSON object with an array \"keys\".")
        }
        guard entries.count <= Self.maximumKeys else {
            throw KeySetError(message: "The key set has more than \(Self.maximumKeys) keys.")
        }
        self.keys = entries.compactMap { $0.object.flatMap(UserTokenKey.init) }
        guard !self.keys.isEmpty else {
            throw KeySetError(message: "The key set has no signature key for RS256, ES256 or EdDSA with a kid.")
        }
    }

    func contains(_ id: String) -> Bool {
        self.keys.contains { $0.id == id }
    }
}
