// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens

/// A token as a signer made it.
public struct SignedToken: Sendable {
    /// The compact JWS, a secret.
    public let token: FleetToken
    /// The public half of the key that signed, where it is known.
    public let publicKey: RSAPublicKey?
    /// What the token was put together from, where that was done in this process.
    private let parts: CompactJWS?

    /// Pairs a token with the key that checks it.
    public init(token: FleetToken, publicKey: RSAPublicKey?) {
        self.token = token
        self.publicKey = publicKey
        self.parts = nil
    }

    /// Puts a token together.
    init(_ parts: CompactJWS, publicKey: RSAPublicKey?) {
        self.token = LocalSigner.token(parts.signingInput, parts.signature)
        self.publicKey = publicKey
        self.parts = parts
    }

    /// Checks that the token says what was to be signed, and that the signature holds where the key is known.
    ///
    /// A signer far away writes header and payload anew, so what comes back is judged and not believed. Where the
    /// token was put together in this process, it is not taken apart again; its signature is checked all the same.
    ///
    /// - Parameter payload: The JSON that was to be signed.
    /// - Returns: The token taken apart.
    /// - Throws: ``SigningError`` with ``SigningError/Code/releaseCheckFailed`` or ``SigningError/Code/tokenTooLong``.
    @discardableResult
    func check(against payload: [UInt8]) throws(SigningError) -> CompactJWS {
        func failed(_ problem: String) -> SigningError {
            SigningError(code: .releaseCheckFailed, message: "A signed token \(problem) and was not released.")
        }
        guard self.token.compactSerialization.utf8.count <= CompactJWS.maximumBytes else {
            throw SigningError(
                code: .tokenTooLong,
                message: "A signed token is longer than \(CompactJWS.maximumBytes) bytes and was not released; claim "
                    + "less, such as fewer taskids.")
        }
        let parts: CompactJWS
        if let own = self.parts {
            parts = own
        } else {
            do throws(TokenRefusal) {
                parts = try CompactJWS(self.token.compactSerialization)
            } catch {
                throw failed("is not a well-formed RS256 token")
            }
        }
        if parts.payload != payload {
            guard let signed = try? JSONValue(parsing: parts.payload), signed == (try? JSONValue(parsing: payload))
            else {
                throw failed("does not say what was to be signed")
            }
        }
        guard let publicKey else { return parts }
        if let keyID = parts.keyID, keyID != publicKey.id { throw failed("names another key than the signer") }
        guard publicKey.isValidSignature(parts.signature, for: parts.signingInput) else {
            throw failed("did not verify with its public key")
        }
        return parts
    }
}

extension SignedToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The fingerprint, never the token.
    public var description: String { "SignedToken(\(self.token.fingerprint))" }
    /// The fingerprint, never the token.
    public var debugDescription: String { self.description }
    /// A mirror that shows the fingerprint only.
    public var customMirror: Mirror { Mirror(self, children: ["fingerprint": self.token.fingerprint]) }
}

/// Signs whole tokens for one service account, and writes the header itself.
///
/// ``TokenSigner`` is for signers that sign bytes; this protocol is also for those that only sign JSON, such as IAM's
/// `signJwt`, which chooses the key and the header on its own.
public protocol PayloadSigner: Sendable {
    /// The account's e-mail, which tokens name as issuer and subject.
    var account: String { get }

    /// Signs a payload with RS256.
    ///
    /// - Parameter payload: The claims, as JSON.
    /// - Returns: The finished token.
    /// - Throws: ``SigningError`` with ``SigningError/Code/signingFailed``.
    func sign(payload: [UInt8]) async throws -> SignedToken
}

extension TokenSigner {
    /// Signs a payload under a header of this signer's key.
    ///
    /// - Parameter payload: The claims, as JSON.
    /// - Returns: The finished token, the same bytes for the same payload.
    /// - Throws: ``SigningError`` with ``SigningError/Code/signingFailed``, or with
    ///   ``SigningError/Code/releaseCheckFailed`` where another key signed than ``keyID``.
    public func sign(payload: [UInt8]) async throws -> SignedToken {
        let input = Self.signingInput(keyID: self.keyID, payload: payload)
        let signature = try await self.sign(input)
        if let named = self.keyID, let made = signature.keyID, named != made {
            throw SigningError(
                code: .releaseCheckFailed,
                message: "The signer named the key \(named) before it signed and the key \(made) after; the token was "
                    + "not released. Where keys change between the two, leave keyID nil.")
        }
        return SignedToken(token: Self.token(input, signature.bytes), publicKey: self.publicKey)
    }
}

extension PayloadSigner {
    /// Header, dot and payload as they are signed.
    package static func signingInput(keyID: String?, payload: [UInt8]) -> [UInt8] {
        self.encodedHeader(keyID: keyID) + Base64URL.encode(payload)
    }

    /// The header as it is signed, with the dot that follows.
    static func encodedHeader(keyID: String?) -> [UInt8] {
        var header: JSONObject = ["alg": .string("RS256"), "typ": .string("JWT")]
        if let keyID { header["kid"] = .string(keyID) }
        return Base64URL.encode(JSONValue.object(header).serialized) + [UInt8(ascii: ".")]
    }

    /// The compact form of a signing input and its signature.
    package static func token(_ signingInput: [UInt8], _ signature: [UInt8]) -> FleetToken {
        let compact = signingInput + [UInt8(ascii: ".")] + Base64URL.encode(signature)
        return FleetToken(String(decoding: compact, as: UTF8.self))
    }
}
