// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FleetTokens
public import Foundation

/// Knows callers by secrets that they send as `Authorization: Bearer SECRET`.
///
/// The file holds SHA-256 digests, never the secrets, so secrets must be long and random (at least 16 characters; 32
/// random bytes are right). The form is
/// `{"callers": [{"name": "driver-app", "secret_sha256": "HEX", "roles": ["driver"]}]}`.
public struct StaticBearerAuthenticator: CallerAuthenticator {
    private struct File: Decodable {
        struct Entry: Decodable {
            let name: String
            let secret_sha256: String
            let roles: [String]
        }
        let callers: [Entry]
    }

    private let callers: [(digest: [UInt8], caller: Caller)]

    /// Reads callers from a file's bytes.
    ///
    /// - Parameter json: The file, in the form above.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    public init(json: Data) throws(TokenServerError) {
        func invalid(_ message: String) -> TokenServerError {
            TokenServerError(code: .invalidConfiguration, message: message)
        }
        let file: File
        do {
            file = try JSONDecoder().decode(File.self, from: json)
        } catch {
            throw invalid(
                "The callers' file is not of the form {\"callers\": [{\"name\", \"secret_sha256\", \"roles\"}]}.")
        }
        guard !file.callers.isEmpty else { throw invalid("The callers' file names no caller.") }
        var callers: [(digest: [UInt8], caller: Caller)] = []
        for entry in file.callers {
            guard let digest = Self.bytes(ofHexadecimal: entry.secret_sha256), digest.count == 32 else {
                throw invalid(
                    "The secret_sha256 of \"\(entry.name)\" is not 64 hexadecimal digits; "
                        + "make it with: printf %s SECRET | sha256sum"
                )
            }
            let roles = Set(entry.roles.map(Role.init(rawValue:)))
            guard !roles.isEmpty, roles.isSubset(of: TokenRoute.roles) else {
                throw invalid(
                    "The roles of \"\(entry.name)\" must be some of "
                        + "\(TokenRoute.roles.map(\.rawValue).sorted().joined(separator: ", "))."
                )
            }
            callers.append((digest, Caller(name: entry.name, issuer: "static", roles: roles)))
        }
        self.callers = callers
    }

    /// The caller with the bearer secret, compared in constant time.
    public func caller(of request: CallerRequest) async throws -> Caller? {
        guard let secret = request.bearer else { return nil }
        let digest = SHA256.hash(data: Data(secret.utf8))
        var found: Caller?
        // Every entry is compared, so the time says nothing about which one matched.
        for entry in self.callers where digest == entry.digest { found = entry.caller }
        return found
    }

    private static func bytes(ofHexadecimal text: String) -> [UInt8]? {
        let digits = text.compactMap(\.hexDigitValue)
        guard digits.count == text.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
