// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
public import Foundation

extension TrustedKeySet {
    /// Reads keys in any of the forms in which they are published or kept.
    ///
    /// The forms are: a service account's key file (its public half is taken), a JWKS, a JSON object of key ids and
    /// X.509 certificates (as Google publishes a service account's keys), and one PEM public key or certificate, with or
    /// without words before it. Each may begin with a byte order mark. Of several keys those that cannot be used are left
    /// out, as ``JWKS`` does.
    ///
    /// Only a service account's key file says whose key it is. Keys of the other forms belong to no account in particular
    /// and have no role, unless `account` is given: name it wherever a key shall check one account's tokens alone.
    ///
    /// - Parameters:
    ///   - bytes: The text.
    ///   - name: What a key is called that has no id of its own, as that of a PEM text: tokens may name it by any id.
    ///   - account: Whose keys they are, with role and provider, whatever the text says; `nil` leaves it to the text.
    ///   - role: The role of the account that a key file names, where it is known; of no use without one.
    ///   - provider: The provider of that account; the key file's own project where it is `nil`.
    ///   - time: Leaves out certificates that are not to be used then; `nil` takes all.
    /// - Returns: The keys.
    /// - Throws: ``SigningError`` that says what is wrong.
    public static func read(
        _ bytes: Data, named name: String, account: TrustedAccount? = nil, role: Role? = nil,
        provider: ProviderID? = nil, validAt time: Date? = nil
    ) throws(SigningError) -> [RSAPublicKey] {
        let bytes = bytes.withoutByteOrderMark
        let text = String(decoding: bytes, as: UTF8.self)
        // What stands before a PEM block explains it (RFC 7468 §5.2); a JSON object may hold such blocks.
        if text.first(where: { !$0.isWhitespace }) != "{", text.contains("-----BEGIN ") {
            let count = text.ranges(of: "-----BEGIN ").count
            guard count == 1 else {
                throw SigningError(
                    code: .invalidKeySet,
                    message: "\(name) holds \(count) PEM blocks; leave the one public key or certificate in it that "
                        + "checks tokens, and put others into files of their own.")
            }
            if let time, !CertificateReader.isValid(text, at: time) { return [] }
            return [try RSAPublicKey(pem: text, id: name, account: account, isUnnamed: true)]
        }
        let object: JSONObject
        do throws(TokenError) {
            object = try JSONValue(parsing: bytes).object ?? [:]
        } catch {
            throw SigningError(
                code: .invalidKeySet,
                message: "\(name) is neither PEM nor JSON. \(error.message)"
            )
        }
        if object["type"]?.string == "service_account" {
            let key = try ServiceAccountKey(json: bytes)
            let own = try key.publicKey(role: role, provider: provider ?? key.projectID.flatMap { ProviderID($0) })
            guard let account else { return [own] }
            return [try own.bound(to: account)]
        }
        if object["keys"] != nil { return try JWKS.read(bytes, named: name, account: account) }
        var keys: [RSAPublicKey] = []
        var problem: SigningError?
        for (id, value) in object {
            do throws(SigningError) {
                guard let pem = value.string, pem.contains("BEGIN CERTIFICATE") else {
                    throw SigningError(
                        code: .invalidKeySet,
                        message: "\(name) is no key set; use a service account's key file, a JWKS, a PEM key, or a "
                            + "JSON object of key ids and X.509 certificates."
                    )
                }
                if let time, !CertificateReader.isValid(pem, at: time) { continue }
                keys.append(try RSAPublicKey(pem: pem, id: id, account: account))
            } catch {
                problem = problem ?? error
            }
        }
        if keys.isEmpty, let problem { throw problem }
        return keys
    }

    /// Whether a text is a key set with nothing in it: a JWKS, or a JSON object of key ids and certificates.
    static func isWithoutEntries(_ bytes: Data) -> Bool {
        guard let object = (try? JSONValue(parsing: bytes.withoutByteOrderMark))?.object else { return false }
        return object["keys"].map { $0 == .array([]) } ?? object.keys.isEmpty
    }
}
