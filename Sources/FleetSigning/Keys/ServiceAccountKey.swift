// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
public import FleetTokens
public import Foundation

/// A service account's private key with the account it belongs to, as Google's key files hold them.
///
/// The key is parsed once. Neither printing nor mirroring shows it.
public struct ServiceAccountKey: Sendable {
    /// The account's e-mail, `client_email`.
    public let account: String
    /// The key's id, `private_key_id`.
    public let keyID: String
    /// The cloud project that the account belongs to, `project_id`, which is the provider id.
    public let projectID: String?

    let privateKey: _RSA.Signing.PrivateKey

    /// Reads a PEM private key.
    ///
    /// - Parameters:
    ///   - pem: An RSA key of at least 2048 bits, PKCS#8 or PKCS#1.
    ///   - account: The account's e-mail.
    ///   - keyID: The key's id, which tokens carry as `kid`.
    ///   - projectID: The cloud project, where it is known.
    /// - Throws: ``SigningError`` with ``SigningError/Code/invalidKey``.
    public init(pem: String, account: String, keyID: String, projectID: String? = nil) throws(SigningError) {
        guard !account.isEmpty, !keyID.isEmpty else {
            throw SigningError(code: .invalidKey, message: "The account's e-mail or the key id is empty.")
        }
        guard keyID.utf8.count <= 256 else {
            throw SigningError(
                code: .invalidKey,
                message: "The key id \(keyID.prefix(32))… is longer than 256 bytes, which no verifier takes.")
        }
        do {
            // Files written on other systems may have carriage returns, which the PEM reader does not know.
            self.privateKey = try _RSA.Signing.PrivateKey(
                pemRepresentation: pem.replacingOccurrences(of: "\r\n", with: "\n"))
        } catch {
            throw SigningError(
                code: .invalidKey,
                message: "The private key of \(account) is not an RSA key of at least 2048 bits in PEM form."
            )
        }
        self.account = account
        self.keyID = keyID
        self.projectID = projectID
    }

    /// Reads a key file in Google's JSON format.
    ///
    /// - Parameter json: The file's bytes, which may begin with a byte order mark.
    /// - Throws: ``SigningError`` with ``SigningError/Code/invalidKey``, naming the field that is wrong.
    public init(json: some Collection<UInt8>) throws(SigningError) {
        let object: JSONObject
        do throws(TokenError) {
            object = try JSONValue(parsing: json.withoutByteOrderMark).object ?? [:]
        } catch {
            throw SigningError(code: .invalidKey, message: "The key file is not JSON. \(error.message)")
        }
        func text(_ field: String) throws(SigningError) -> String {
            guard let text = object[field]?.string, !text.isEmpty else {
                throw SigningError(
                    code: .invalidKey,
                    message: "The key file has no \"\(field)\"; pass a service account's key file in JSON format."
                )
            }
            return text
        }
        guard try text("type") == "service_account" else {
            throw SigningError(
                code: .invalidKey,
                message: "The key file's type is not service_account; pass a service account's key file."
            )
        }
        try self.init(
            pem: text("private_key"),
            account: text("client_email"),
            keyID: text("private_key_id"),
            projectID: object["project_id"]?.string
        )
    }

    /// Makes a new 2048-bit key.
    ///
    /// - Throws: ``SigningError`` with ``SigningError/Code/signingFailed`` when no key could be made.
    public init(generatingFor account: String, projectID: String?) throws(SigningError) {
        do {
            self.privateKey = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        } catch {
            throw SigningError(code: .signingFailed, message: "No RSA key could be made.", cause: error)
        }
        self.account = account
        self.projectID = projectID
        let digest = Crypto.SHA256.hash(data: self.privateKey.publicKey.derRepresentation)
        self.keyID = digest.prefix(20).hexadecimal
    }

    /// The key file in Google's JSON format, which holds the private key: write it with mode 0600 only.
    public var keyFile: Data {
        let object: JSONObject = [
            "type": .string("service_account"),
            "project_id": .string(self.projectID ?? ""),
            "private_key_id": .string(self.keyID),
            "private_key": .string(self.privateKey.pkcs8PEMRepresentation + "\n"),
            "client_email": .string(self.account),
            "client_id": .string(""),
            "auth_uri": .string("https://accounts.google.com/o/oauth2/auth"),
            "token_uri": .string("https://oauth2.googleapis.com/token"),
        ]
        return Data(JSONValue.object(object).serialized + [UInt8(ascii: "\n")])
    }

    /// The public half, bound to the account.
    ///
    /// - Parameters:
    ///   - role: The role that the account holds, where it is known.
    ///   - provider: The provider that the account belongs to, where it is known.
    /// - Returns: The key that checks this account's tokens.
    /// - Throws: ``SigningError`` with ``SigningError/Code/invalidKey`` for an unsound key.
    public func publicKey(role: Role? = nil, provider: ProviderID? = nil) throws(SigningError) -> RSAPublicKey {
        try RSAPublicKey(
            self.privateKey.publicKey,
            id: self.keyID,
            account: TrustedAccount(email: self.account, role: role, provider: provider)
        )
    }
}

extension ServiceAccountKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Account and key id, never the key.
    public var description: String { "ServiceAccountKey(\(self.account), \(self.keyID))" }
    /// Account and key id, never the key.
    public var debugDescription: String { self.description }
    /// A mirror that shows account and key id only.
    public var customMirror: Mirror { Mirror(self, children: ["account": self.account, "keyID": self.keyID]) }
}
