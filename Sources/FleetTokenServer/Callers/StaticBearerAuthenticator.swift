// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
package import FleetTokens
public import Foundation

/// Knows callers by secrets that they send as `Authorization: Bearer SECRET`.
///
/// The file holds salted SHA-256 digests, never the secrets. A secret is 32 random bytes as ``makeSecret()`` gives them,
/// which no slow hash could make any safer; one shorter than ``shortestSecret`` is refused. The form is
/// `{"callers": [{"name": "driver-app", "salt": "HEX", "secret_sha256": "HEX", "roles": ["driver"]}]}`, where
/// `secret_sha256` is the digest of the salt's bytes followed by the secret. Files without salts are read as well. A caller's
/// name has 1 to 255 printable ASCII characters.
public struct StaticBearerAuthenticator: CallerAuthenticator {
    /// One caller of a file, as it is written there.
    package struct Entry: Encodable, Sendable {
        private enum CodingKeys: String, CodingKey, CaseIterable {
            case name, salt
            case digest = "secret_sha256"
            case roles
        }

        static let members = Set(CodingKeys.allCases.map(\.rawValue))

        let name: String
        let salt: String?
        let digest: String
        let roles: [String]?

        fileprivate init(name: String, salt: String, digest: String, roles: [String]?) {
            self.name = name
            self.salt = salt
            self.digest = digest
            self.roles = roles
        }

        /// `nil` where a member is missing, or holds something else than it should.
        fileprivate init?(_ value: JSONValue) {
            guard let object = value.object, let name = object["name"]?.string,
                let digest = object["secret_sha256"]?.string
            else { return nil }
            let (salt, roles) = (object["salt"], object["roles"])
            let names = roles?.array?.compactMap(\.string)
            guard salt == nil || salt?.string != nil, roles == nil || names?.count == roles?.array?.count else {
                return nil
            }
            self.name = name
            self.salt = salt?.string
            self.digest = digest
            self.roles = names
        }
    }

    private struct Known: Sendable {
        let salt: [UInt8]
        let digest: [UInt8]
        let caller: Caller
    }

    /// The fewest bytes that a secret has; shorter ones are never looked up.
    public static let shortestSecret = 24
    /// The roles that a caller can have.
    package static let callerRoles = PolicyTarget.roles
    /// Each request is compared with every entry, so their number is bounded.
    private static let maximumCallers = 1000

    private static let form =
        "The callers' file is not of the form {\"callers\": [{\"name\", \"salt\", \"secret_sha256\", \"roles\"}]}."

    private let callers: [Known]

    /// Those who are known, in the order of the file.
    var knownCallers: [Caller] { self.callers.map(\.caller) }

    /// Reads callers from a file's bytes.
    ///
    /// - Parameter json: The file, in the form above.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    public init(json: Data) throws(TokenServerError) {
        try self.init(json: json, givesRoles: true)
    }

    /// Reads administrators from a file's bytes: of the form above, without roles.
    ///
    /// - Parameter json: The file.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    public init(administrators json: Data) throws(TokenServerError) {
        try self.init(json: json, givesRoles: false)
    }

    private init(json: Data, givesRoles: Bool) throws(TokenServerError) {
        let file: JSONValue
        do throws(TokenError) {
            file = try JSONValue(parsing: json.withoutByteOrderMark)
        } catch {
            throw Self.invalid("\(Self.form) \(error.message)")
        }
        guard let object = file.object, let list = object["callers"]?.array else { throw Self.invalid(Self.form) }
        if let unknown = object.keys.filter({ $0 != "callers" }).min() {
            throw Self.invalid("The callers' file has a member \"\(unknown.shown(upTo: 64))\" beside callers.")
        }
        guard (1...Self.maximumCallers).contains(list.count) else {
            throw Self.invalid("The callers' file names \(list.count) callers; it needs 1 to \(Self.maximumCallers).")
        }
        var callers: [Known] = []
        for value in list {
            if let unknown = Set(value.object?.keys ?? []).subtracting(Entry.members).min() {
                throw Self.invalid(
                    "The entry of \"\(value.object?["name"]?.string?.shown(upTo: 64) ?? "")\" has a member "
                        + "\"\(unknown.shown(upTo: 64))\", and there are name, salt, secret_sha256 and roles alone.")
            }
            guard let entry = Entry(value) else { throw Self.invalid(Self.form) }
            callers.append(try Self.known(entry, givesRoles: givesRoles))
        }
        guard Set(callers.map(\.caller.name)).count == callers.count else {
            throw Self.invalid("Two entries of the callers' file have one name.")
        }
        self.callers = callers
    }

    /// The caller with the bearer secret, compared in constant time.
    ///
    /// A compact JWS, of whatever length, is left to the authenticators of tokens.
    public func caller(of request: CallerRequest) async throws -> Caller? {
        guard let secret = request.bearer, UserToken(secret) == nil, !UserToken.isTooLong(secret) else { return nil }
        guard (Self.shortestSecret...1024).contains(secret.utf8.count) else {
            throw CallerRefusal(.unknown, "The bearer secret is too short or too long to be one.")
        }
        var found: Caller?
        let bytes = Array(secret.utf8)
        // Every entry is compared, so the time says nothing about which one matched.
        for entry in self.callers {
            let digest = SHA256.hash(data: entry.salt + bytes)
            if digest == entry.digest { found = entry.caller }
        }
        guard let found else { throw CallerRefusal(.unknown, "The bearer secret is nobody's.") }
        return found
    }

    /// Makes a secret of 256 random bits, with what the callers' file holds of it.
    ///
    /// - Returns: The secret, to be given to the caller once, and salt and digest in hexadecimal digits.
    public static func makeSecret() -> (secret: String, salt: String, digest: String) {
        var generator = SystemRandomNumberGenerator()
        func random(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) } }
        let secret = String(decoding: Base64URL.encode(random(32)), as: UTF8.self)
        let salt = random(16)
        return (secret, salt.hexadecimal, SHA256.hash(data: salt + Array(secret.utf8)).hexadecimal)
    }

    /// Makes a secret, and the entry of a file that lets in whoever has it.
    ///
    /// - Parameters:
    ///   - name: The caller's name.
    ///   - roles: The roles whose tokens it may have; `nil` for an administrator.
    /// - Returns: The secret, to be given to the caller once, and the entry.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration`` where no file could have it.
    package static func makeEntry(
        named name: String, roles: [String]?
    ) throws(TokenServerError) -> (secret: String, entry: Entry) {
        let made = self.makeSecret()
        let entry = Entry(name: name, salt: made.salt, digest: made.digest, roles: roles)
        _ = try self.known(entry, givesRoles: roles != nil)
        return (made.secret, entry)
    }

    private static func known(_ entry: Entry, givesRoles: Bool) throws(TokenServerError) -> Known {
        guard let digest = [UInt8](hexadecimal: entry.digest), digest.count == 32 else {
            let bytes = entry.salt == nil ? "the secret" : "the salt's bytes and the secret"
            throw self.invalid(
                "The secret_sha256 of \"\(entry.name)\" is not 64 hexadecimal digits; it is the SHA-256 of \(bytes), and "
                    + "fleetpass callers new makes a secret with its whole entry.")
        }
        guard let salt = [UInt8](hexadecimal: entry.salt ?? ""), salt.isEmpty || (16...64).contains(salt.count)
        else { throw self.invalid("The salt of \"\(entry.name)\" is not 32 to 128 hexadecimal digits.") }
        guard !givesRoles || CallerID.isUsable(subject: entry.name) else {
            throw self.invalid(
                "The name \"\(entry.name.prefix(64))\" must be 1 to 255 printable ASCII characters; assignments and "
                    + "withdrawals know the caller by it.")
        }
        let roles = Set((entry.roles ?? []).map(Role.init(rawValue:)))
        guard givesRoles || entry.roles == nil else {
            throw self.invalid("The administrator \"\(entry.name)\" has roles; those are for callers, take them away.")
        }
        guard roles.isEmpty != givesRoles, roles.isSubset(of: self.callerRoles) else {
            throw self.invalid(
                "The roles of \"\(entry.name)\" must be some of "
                    + "\(self.callerRoles.map(\.rawValue).joined(separator: ", ")).")
        }
        let label = givesRoles ? "static" : "admin"
        return Known(salt: salt, digest: digest, caller: Caller(name: entry.name, issuer: label, roles: roles))
    }

    private static func invalid(_ message: String) -> TokenServerError {
        TokenServerError(code: .invalidConfiguration, message: message)
    }
}
