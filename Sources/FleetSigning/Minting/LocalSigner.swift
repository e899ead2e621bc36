// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras

/// Signs with a private key in memory.
public struct LocalSigner: TokenSigner {
    private let key: ServiceAccountKey
    /// The public half of the key.
    public let publicKey: RSAPublicKey?

    /// The account's e-mail.
    public var account: String { self.key.account }
    /// The key's id.
    public var keyID: String? { self.key.keyID }

    /// Signs with a service account's key.
    ///
    /// - Throws: ``SigningError`` with ``SigningError/Code/invalidKey`` for an unsound key.
    public init(_ key: ServiceAccountKey) throws(SigningError) {
        self.key = key
        self.publicKey = try key.publicKey()
    }

    /// Signs a message with RS256.
    public func sign(_ message: [UInt8]) async throws -> TokenSignature {
        do {
            let signature = try self.key.privateKey.signature(
                for: SHA256.hash(data: message), padding: .insecurePKCS1v1_5)
            return TokenSignature(bytes: Array(signature.rawRepresentation), keyID: self.keyID)
        } catch {
            throw SigningError(code: .signingFailed, message: "The key of \(self.account) did not sign.", cause: error)
        }
    }
}
