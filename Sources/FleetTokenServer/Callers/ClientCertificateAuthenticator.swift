// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
public import Foundation

/// Knows backends by the certificates with which they open TLS connections.
///
/// TLS has verified the certificate's chain before; what is listed here says which of the verified ones is which caller.
/// The certificate must be valid at each request, as its connection may live longer than it.
public struct ClientCertificateAuthenticator: CallerAuthenticator {
    /// What of a certificate names the caller.
    public enum Identity: Hashable, Sendable {
        /// A URI among the alternative names, such as `spiffe://example/dispatch`.
        case uri(String)
        /// A DNS name among the alternative names, in upper or lower case.
        case dnsName(String)
        /// The whole subject as RFC 4514 writes it, the most specific part first, such as `CN=dispatch,O=Acme`; in any of
        /// its spellings.
        case subject(String)
        /// SHA-256 of the certificate's DER form, in lower-case hexadecimal digits.
        case fingerprint(String)

        /// Its kind and its text, by which it is compared.
        var key: ExactText {
            switch self {
            case .uri(let uri): ExactText("uri \(uri)")
            case .dnsName(let name): ExactText("dns_name \(Self.lowerCase(name))")
            case .subject(let name): ExactText("subject \(SubjectName(parsing: name)?.text ?? name)")
            case .fingerprint(let digits): ExactText("fingerprint \(digits)")
            }
        }

        /// The text with ASCII's letters in lower case; case plays no part in a DNS name (RFC 5280 §7.2), and it has no others.
        private static func lowerCase(_ name: String) -> String {
            let capitals = UInt8(ascii: "A")...UInt8(ascii: "Z")
            return String(decoding: name.utf8.map { capitals.contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
        }
    }

    /// One caller.
    public struct Entry: Sendable {
        /// What of the certificate names it.
        public var identity: Identity
        /// The caller's name.
        public var name: String
        /// The roles whose tokens it may have.
        public var roles: Set<Role>

        /// Describes a caller.
        public init(identity: Identity, name: String, roles: Set<Role> = []) {
            self.identity = identity
            self.name = name
            self.roles = roles
        }
    }

    private let label: String
    private let entries: [ExactText: Entry]
    private let now: @Sendable () -> Date

    /// Makes an authenticator.
    ///
    /// - Parameters:
    ///   - label: Its name in logs, rules and assignments.
    ///   - entries: The callers.
    ///   - now: The clock that certificates are judged by.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration`` when one identity is two callers,
    ///   or a name is not 1 to 255 printable ASCII characters.
    public init(
        label: String = "certificate", entries: [Entry], now: @escaping @Sendable () -> Date = { Date() }
    ) throws(TokenServerError) {
        if let entry = entries.first(where: { !CallerID.isUsable(subject: $0.name) }) {
            throw TokenServerError(
                code: .invalidConfiguration,
                message:
                    "The name \"\(entry.name.prefix(64))\" of a caller with a certificate must be 1 to 255 printable ASCII "
                    + "characters; assignments and withdrawals know the caller by it.")
        }
        var known: [ExactText: Entry] = [:]
        for entry in entries where known.updateValue(entry, forKey: entry.identity.key) != nil {
            throw TokenServerError(
                code: .invalidConfiguration, message: "Two callers have the certificate of \"\(entry.name)\".")
        }
        self.label = label
        self.entries = known
        self.now = now
    }

    /// The caller whose certificate the connection was opened with; `nil` where it showed none.
    public func caller(of request: CallerRequest) async throws -> Caller? {
        guard let certificate = request.clientCertificate else { return nil }
        let identities =
            [.fingerprint(certificate.fingerprint)] + certificate.uris.map(Identity.uri)
            + certificate.dnsNames.map(Identity.dnsName)
            + [certificate.subject].compactMap(\.self).map(Identity.subject)
        let named = identities.compactMap { self.entries[$0.key] }
        guard Set(named.map(\.name)).count < 2 else {
            throw CallerRefusal(.malformed, "The client's certificate names several callers.")
        }
        // A certificate may stand beside another credential, so an unknown one is left to the other authenticators.
        guard let entry = named.first else { return nil }
        let now = self.now()
        guard now >= certificate.notBefore else {
            throw CallerRefusal(.notYetValid, "The client's certificate is not valid yet.")
        }
        guard now <= certificate.notAfter else {
            throw CallerRefusal(.expired, "The client's certificate has expired.")
        }
        return Caller(name: entry.name, issuer: self.label, roles: entry.roles)
    }
}
