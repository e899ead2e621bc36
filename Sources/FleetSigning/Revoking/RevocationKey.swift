// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FleetTokens
public import Foundation

/// The private key that signs lists of revocations, and nothing else.
///
/// It is Ed25519: a Fleet Engine token is RS256, so neither can pass for the other, whatever their headers say.
public struct RevocationKey: Sendable {
    private let key: Curve25519.Signing.PrivateKey
    /// The key's id, which lists carry as `kid`: its thumbprint (RFC 7638).
    public let id: String

    /// Makes a new key.
    public init() {
        self.init(Curve25519.Signing.PrivateKey())
    }

    /// Reads a key file, a private JWK (RFC 8037).
    ///
    /// - Parameter file: The file's bytes.
    /// - Throws: ``SigningError`` with ``SigningError/Code/invalidKey``.
    public init(file: some Collection<UInt8>) throws(SigningError) {
        guard let members = (try? JSONValue(parsing: file))?.object, members["kty"]?.string == "OKP",
            members["crv"]?.string == "Ed25519",
            let secret = members["d"]?.string.flatMap({ Base64URL.decode($0.utf8) }),
            let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: secret)
        else {
            throw SigningError(
                code: .invalidKey,
                message: "The revocation key is not a private Ed25519 key as a JWK; remove the file to have one made.")
        }
        self.init(key)
    }

    private init(_ key: Curve25519.Signing.PrivateKey) {
        self.key = key
        self.id = RevocationKeySet.thumbprint(of: key.publicKey)
    }

    /// The key file, which holds the private key: write it with mode 0600 only.
    public var file: Data {
        var members = RevocationKeySet.members(of: self.key.publicKey)
        members["d"] = .string(Self.text(self.key.rawRepresentation))
        return Data(JSONValue.object(members).serialized + [UInt8(ascii: "\n")])
    }

    /// The key set to publish: the public half.
    public var published: [UInt8] {
        JSONValue.object(["keys": .array([.object(RevocationKeySet.members(of: self.key.publicKey))])]).serialized
    }

    func signature(of message: [UInt8]) throws -> [UInt8] {
        Array(try self.key.signature(for: message))
    }

    static func text(_ bytes: some Collection<UInt8>) -> String {
        String(decoding: Base64URL.encode(bytes), as: UTF8.self)
    }
}

extension RevocationKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The key's id, never the key.
    public var description: String { "RevocationKey(\(self.id))" }
    /// The key's id, never the key.
    public var debugDescription: String { self.description }
    /// A mirror that shows the id only.
    public var customMirror: Mirror { Mirror(self, children: ["id": self.id]) }
}
