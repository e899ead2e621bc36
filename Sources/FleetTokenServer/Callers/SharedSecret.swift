// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation

/// A secret of at least 256 bits that two servers share; it shows nothing of itself.
public struct SharedSecret: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private let key: SymmetricKey

    /// Takes a secret.
    ///
    /// - Parameter bytes: The secret, made by a random generator.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    public init(_ bytes: some Sequence<UInt8>) throws(TokenServerError) {
        let bytes = Array(bytes)
        // A text repeated to the length that is asked for is no key; random bytes are never so uniform.
        guard bytes.count >= 32, Set(bytes).count >= 12 else {
            throw TokenServerError(
                code: .invalidConfiguration,
                message: "A shared secret needs 32 random bytes or more; make it with: openssl rand -base64 32"
            )
        }
        // Digits hold four bits each, so that 32 of them, which are often made for it, are half a secret.
        let digits = "0123456789abcdefABCDEF".utf8
        guard bytes.count >= 64 || !bytes.allSatisfy({ digits.contains($0) }) else {
            throw TokenServerError(
                code: .invalidConfiguration,
                message:
                    "A shared secret of hexadecimal digits alone needs 64 of them or more, which are 32 random bytes; it "
                    + "has \(bytes.count). Make it with: openssl rand -hex 32"
            )
        }
        self.key = SymmetricKey(data: bytes)
    }

    /// Takes the secret of a file: its bytes as they are, hexadecimal digits as text, without the line feed at the end of a
    /// text, which an editor or a shell put there; among random bytes it is one of them.
    ///
    /// - Parameter bytes: The file's bytes.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    init(file bytes: Data) throws(TokenServerError) {
        let isText = String(validating: bytes, as: UTF8.self)?.unicodeScalars.allSatisfy {
            $0.properties.generalCategory != .control || "\t\r\n".unicodeScalars.contains($0)
        }
        try self.init(isText == true && bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes)
    }

    /// The HMAC-SHA-256 of a message.
    func authenticationCode(for message: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: message, using: self.key))
    }

    /// Whether an HMAC-SHA-256 fits a message, compared in constant time.
    func isValid(_ code: [UInt8], for message: [UInt8]) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: message, using: self.key)
    }

    /// Says that it is a secret.
    public var description: String { "SharedSecret" }
    /// Says that it is a secret.
    public var debugDescription: String { self.description }
    /// A mirror without the secret.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
