// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A signature and the key that made it.
public struct TokenSignature: Sendable {
    /// The RS256 signature.
    public var bytes: [UInt8]
    /// The id of the key, where the signer says.
    public var keyID: String?

    /// Pairs a signature with its key.
    public init(bytes: [UInt8], keyID: String?) {
        self.bytes = bytes
        self.keyID = keyID
    }
}

/// Signs bytes for one service account, with a key at hand or far away.
public protocol TokenSigner: PayloadSigner {
    /// The id for the header (`kid`), or `nil` where it is not known before signing, as with IAM's `signBlob`.
    var keyID: String? { get }
    /// The public half of the key, for the check before release; `nil` where it is not known.
    var publicKey: RSAPublicKey? { get }

    /// Signs a message with RS256.
    ///
    /// - Parameter message: The signing input of a JWS.
    /// - Returns: The signature and the id of the key that made it.
    /// - Throws: ``SigningError`` with ``SigningError/Code/signingFailed``.
    func sign(_ message: [UInt8]) async throws -> TokenSignature
}
