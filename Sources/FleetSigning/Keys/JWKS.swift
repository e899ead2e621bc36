// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import CryptoExtras
public import FleetTokens
import Foundation

/// A JSON Web Key Set (RFC 7517), of which RSA signature keys are read and written.
public enum JWKS {
    /// Reads the keys of a set that may check RS256 signatures.
    ///
    /// Keys of another kind, for encryption, or for another algorithm are left out, and so are entries that cannot be
    /// used, such as a key of 1024 bits or one with its private half (RFC 7517 §5): one that went wrong must not take the
    /// good ones with it. It is an error where no key is left for it.
    ///
    /// - Parameters:
    ///   - bytes: The JSON text.
    ///   - name: What a key without `kid` is called: tokens may name it by any id.
    ///   - account: The account that the set belongs to, where the source says.
    /// - Returns: The keys, in the order of the set.
    /// - Throws: ``SigningError`` with ``SigningError/Code/invalidKeySet`` or ``SigningError/Code/invalidKey``.
    public static func read(
        _ bytes: some Collection<UInt8>, named name: String = "JWKS", account: TrustedAccount? = nil
    ) throws(SigningError) -> [RSAPublicKey] {
        guard let elements = (try? JSONValue(parsing: bytes))?.object?["keys"]?.array else {
            throw SigningError(
                code: .invalidKeySet,
                message: "The key set is not a JWKS; it should be a JSON object with an array \"keys\"."
            )
        }
        var keys: [RSAPublicKey] = []
        var problem: SigningError?
        for element in elements {
            do throws(SigningError) {
                if let key = try self.key(element, named: name, account: account) { keys.append(key) }
            } catch {
                problem = problem ?? error
            }
        }
        if keys.isEmpty, let problem { throw problem }
        return keys
    }

    private static func key(
        _ element: JSONValue, named name: String, account: TrustedAccount?
    ) throws(SigningError) -> RSAPublicKey? {
        guard let members = element.object else {
            throw SigningError(code: .invalidKeySet, message: "An entry of the JWKS is not a JSON object.")
        }
        let entry: JWKMembers
        do throws(JWKMembers.Fault) {
            entry = try JWKMembers(members, kind: .rsa)
        } catch {
            switch error {
            case .purpose: return nil
            case .privateKey:
                throw SigningError(
                    code: .invalidKey,
                    message: "A key of the JWKS has its private half with it; publish the public half of another.")
            case .id:
                throw SigningError(
                    code: .invalidKeySet, message: "The kid of a key of the JWKS is not a string of 1 to 256 bytes.")
            }
        }
        let id = entry.id ?? name
        guard let modulus = entry.bytes("n"), let exponent = entry.bytes("e"),
            let key = try? _RSA.Signing.PublicKey(n: modulus, e: exponent)
        else {
            throw SigningError(
                code: .invalidKey,
                message: "The key \"\(id.shown(upTo: 64))\" of the JWKS is not an RSA key of at least 2048 bits."
            )
        }
        return try RSAPublicKey(key, id: id, account: account, isUnnamed: entry.id == nil)
    }

    /// Writes keys as a set, each once.
    ///
    /// - Parameter keys: The keys to publish.
    /// - Returns: The JSON text, the same bytes for the same keys.
    public static func write(_ keys: [RSAPublicKey]) -> [UInt8] {
        let entries: [JSONValue] = keys.compactMap { key in
            guard let primitives = key.primitives else { return nil }
            func text(_ bytes: [UInt8]) -> JSONValue {
                .string(String(decoding: Base64URL.encode(bytes), as: UTF8.self))
            }
            return .object([
                "kty": .string("RSA"), "use": .string("sig"), "alg": .string("RS256"), "kid": .string(key.id),
                "n": text(primitives.modulus), "e": text(primitives.exponent),
            ])
        }
        // Roles can share an account, and so its key.
        let distinct = entries.indices.filter { !entries[..<$0].contains(entries[$0]) }.map { entries[$0] }
        return JSONValue.object(["keys": .array(distinct)]).serialized
    }
}
