// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import FleetTokens

/// Signs with a private key in memory.
///
/// On Linux it signs by the machine's OpenSSL 3 where there is one, which takes about half as long, and by swift-crypto
/// elsewhere. Where the machine has Intel's multi-buffer library too, signatures that are wanted at once are made by that
/// together, in about half of OpenSSL's time. The signatures are the same bytes.
public struct LocalSigner: TokenSigner {
    private let key: ServiceAccountKey
    let fastKey: OpenSSLKey?
    private let groups: SigningGroups?
    private let encodedHeader: [UInt8]
    /// The public half of the key.
    public let publicKey: RSAPublicKey?

    /// The account's e-mail.
    public var account: String { self.key.account }
    /// The key's id.
    public var keyID: String? { self.key.keyID }
    /// What computes the signatures, such as `OpenSSL 3.0.19`, `OpenSSL 3.0.19 and crypto_mb 1.1.0` or `swift-crypto`.
    public let implementation: String

    /// The libraries of this machine that may compute signatures, as ``implementation`` names them.
    package static var libraries: String {
        [OpenSSLLibrary.installed?.version ?? "swift-crypto", MultiBufferLibrary.installed?.version]
            .compactMap(\.self).joined(separator: " and ")
    }

    /// Signs with a service account's key.
    ///
    /// - Throws: ``SigningError`` with ``SigningError/Code/invalidKey`` for an unsound key.
    public init(_ key: ServiceAccountKey) throws(SigningError) {
        try self.init(key, library: .installed, multiBuffer: .installed)
    }

    init(
        _ key: ServiceAccountKey, library: OpenSSLLibrary?, multiBuffer: MultiBufferLibrary? = nil
    ) throws(SigningError) {
        let publicKey = try key.publicKey()
        self.key = key
        self.publicKey = publicKey
        self.encodedHeader = Self.encodedHeader(keyID: key.keyID)
        // A library that signs anything else than the key would is not used.
        let probe = Array("fleetpass".utf8)
        let fastKey = library.flatMap { OpenSSLKey(key.privateKey, library: $0) }.flatMap { fastKey in
            fastKey.signature(for: SHA256.hash(data: probe)).flatMap {
                publicKey.isValidSignature($0, for: probe) ? fastKey : nil
            }
        }
        let joint = fastKey.flatMap { fastKey in
            multiBuffer.flatMap { JointKey(key.privateKey, publicKey, library: $0, beside: fastKey) }
        }
        self.fastKey = fastKey
        self.groups = joint.map { joint in SigningGroups(upTo: MultiBufferLibrary.lanes, sign: joint.signatures) }
        self.implementation =
            [fastKey?.library.version ?? "swift-crypto", joint?.version].compactMap(\.self).joined(separator: " and ")
    }

    /// Signs a payload under a header of this signer's key, which is written once.
    public func sign(payload: [UInt8]) async throws -> SignedToken {
        let input = self.encodedHeader + Base64URL.encode(payload)
        let signature = try await self.sign(input)
        let parts = CompactJWS(
            keyID: self.keyID, signingInput: input, payload: payload, signature: signature.bytes)
        return SignedToken(parts, publicKey: self.publicKey)
    }

    /// Signs a message with RS256.
    public func sign(_ message: [UInt8]) async throws -> TokenSignature {
        let digest = message.withUnsafeBytes(SHA256.hash(bytes:))
        if let signature = await self.fastSignature(for: digest) {
            return TokenSignature(bytes: signature, keyID: self.keyID)
        }
        do {
            let signature = try self.key.privateKey.signature(for: digest, padding: .insecurePKCS1v1_5)
            return TokenSignature(bytes: Array(signature.rawRepresentation), keyID: self.keyID)
        } catch {
            throw SigningError(code: .signingFailed, message: "The key of \(self.account) did not sign.", cause: error)
        }
    }

    private func fastSignature(for digest: SHA256Digest) async -> [UInt8]? {
        if let groups { await groups.signature(for: digest) } else { self.fastKey?.signature(for: digest) }
    }
}
