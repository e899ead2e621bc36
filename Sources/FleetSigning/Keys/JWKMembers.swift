// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetTokens

/// One entry of a JSON Web Key Set that is for checking signatures of one kind (RFC 7517 §4, RFC 8725 §3.1).
///
/// Whether there is a key in it, its reader finds out.
package struct JWKMembers: Sendable {
    /// The kinds of keys that are read, each for one algorithm.
    package enum Kind: Sendable {
        case rsa
        case p256
        case ed25519

        /// What `alg` says, in the key and in what it checks.
        package var algorithm: String {
            switch self {
            case .rsa: "RS256"
            case .p256: "ES256"
            case .ed25519: "EdDSA"
            }
        }

        /// What an entry says that it is, or `nil` where that is none of these.
        package init?(of members: JSONObject) {
            switch (members["kty"]?.string, members["crv"]?.string) {
            case ("RSA", _): self = .rsa
            case ("EC", "P-256"): self = .p256
            case ("OKP", "Ed25519"): self = .ed25519
            default: return nil
            }
        }
    }

    /// Why an entry is of no use.
    package enum Fault: Error, Hashable, Sendable {
        /// It is of another kind, or for something else.
        case purpose
        /// It shows its private half.
        case privateKey
        /// Its `kid` is not a string of 1 to 256 bytes, which a token can name.
        case id
    }

    /// The key's id; `nil` where there is none.
    package let id: String?
    private let members: JSONObject

    /// Looks at what an entry says that it is for.
    ///
    /// - Parameters:
    ///   - members: The entry.
    ///   - kind: The kind of key that is wanted.
    /// - Throws: The first ``Fault``.
    package init(_ members: JSONObject, kind: Kind) throws(Fault) {
        guard Kind(of: members) == kind, members["use"].map({ $0.string == "sig" }) ?? true,
            members["alg"].map({ $0.string == kind.algorithm }) ?? true,
            members["key_ops"].map({ $0.array?.contains(.string("verify")) ?? false }) ?? true
        else { throw .purpose }
        guard members["d"] == nil else { throw .privateKey }
        self.id = members["kid"]?.string
        guard members["kid"] == nil || self.id.map({ (1...256).contains($0.utf8.count) }) ?? false else { throw .id }
        self.members = members
    }

    /// The bytes of a member in base64url, or `nil` where they are not there.
    package func bytes(_ name: String) -> [UInt8]? {
        self.members[name]?.string.flatMap { Base64URL.decode($0.utf8) }
    }
}
