// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FleetTokens

/// The public keys that check lists of revocations.
public struct RevocationKeySet: Sendable {
    private static let maximumKeys = 64

    private let keys: [String: Curve25519.Signing.PublicKey]

    /// Reads a JSON Web Key Set; what is no public Ed25519 key with an id for checking signatures is left out.
    ///
    /// - Parameter bytes: The JSON text.
    /// - Throws: ``SigningError`` with ``SigningError/Code/invalidKeySet`` where there is no key of use.
    public init(jwks bytes: some Collection<UInt8>) throws(SigningError) {
        let entries = (try? JSONValue(parsing: bytes))?.object?["keys"]?.array ?? []
        guard entries.count <= Self.maximumKeys else {
            throw SigningError(code: .invalidKeySet, message: "The key set has more than \(Self.maximumKeys) keys.")
        }
        var keys: [String: Curve25519.Signing.PublicKey] = [:]
        for members in entries.compactMap(\.object) {
            guard let entry = try? JWKMembers(members, kind: .ed25519), let id = entry.id, let bytes = entry.bytes("x"),
                let key = try? Curve25519.Signing.PublicKey(rawRepresentation: bytes)
            else { continue }
            keys[id] = key
        }
        guard !keys.isEmpty else {
            throw SigningError(
                code: .invalidKeySet, message: "The key set has no Ed25519 key with a kid, which lists are signed with."
            )
        }
        self.keys = keys
    }

    /// Whether there is a key of this id.
    public func contains(_ id: String) -> Bool { self.keys[id] != nil }

    func isValidSignature(_ signature: [UInt8], for message: [UInt8], by id: String) -> Bool {
        signature.count == 64 && self.keys[id]?.isValidSignature(signature, for: message) ?? false
    }

    static func members(of key: Curve25519.Signing.PublicKey) -> JSONObject {
        [
            "kty": .string("OKP"), "crv": .string("Ed25519"), "use": .string("sig"),
            "alg": .string(SignedRevocations.algorithm), "kid": .string(Self.thumbprint(of: key)),
            "x": .string(RevocationKey.text(key.rawRepresentation)),
        ]
    }

    static func thumbprint(of key: Curve25519.Signing.PublicKey) -> String {
        let members: JSONObject = [
            "crv": .string("Ed25519"), "kty": .string("OKP"), "x": .string(RevocationKey.text(key.rawRepresentation)),
        ]
        return RevocationKey.text(Array(SHA256.hash(data: JSONValue.object(members).serialized)))
    }
}
