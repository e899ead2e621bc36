// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetTokens
import Foundation

extension TokenServerConfiguration {
    /// Reads the callers that are known by their connections.
    static func certificateCallers(
        in values: ConfigurationValues
    ) throws(ConfigurationError) -> [ClientCertificateAuthenticator.Entry] {
        var entries: [ClientCertificateAuthenticator.Entry] = []
        for name in values.names(in: "callers.certificate") {
            let path = "callers.certificate.\(name)"
            let identities: [ClientCertificateAuthenticator.Identity] = [
                values["\(path).uri"].map { .uri($0) }, values["\(path).dns_name"].map { .dnsName($0) },
                values["\(path).subject"].map { .subject($0) },
                values["\(path).fingerprint"].map { .fingerprint($0.lowercased().replacing(":", with: "")) },
            ].compactMap(\.self)
            guard identities.count == 1, let identity = identities.first else {
                throw ConfigurationError(
                    "\(path) takes one of uri, dns_name, subject and fingerprint, which say whose certificate it is.")
            }
            if case .fingerprint(let digits) = identity, digits.count != 64 || !digits.allSatisfy(\.isHexDigit) {
                throw ConfigurationError(
                    "\(path).fingerprint must be the SHA-256 of the certificate, 64 hexadecimal digits, as openssl x509 "
                        + "-noout -fingerprint -sha256 prints it.")
            }
            if case .subject(let name) = identity, SubjectName(parsing: name) == nil {
                throw ConfigurationError(
                    "\(path).subject must be the certificate's whole subject, such as CN=dispatch,O=Acme, as openssl x509 "
                        + "-noout -subject -nameopt RFC2253 prints it; a kind of attribute that is not known here goes by its "
                        + "number, such as 2.5.4.24 for x121Address.")
            }
            let roles = values.list("\(path).roles").map(Role.init(rawValue:))
            if let unknown = roles.first(where: { !PolicyTarget.roles.contains($0) }) {
                throw ConfigurationError(
                    "\(path).roles: there is no role \(unknown.rawValue.prefix(64)) for callers; there are "
                        + "\(PolicyTarget.roles.map(\.rawValue).joined(separator: ", ")).")
            }
            entries.append(.init(identity: identity, name: name, roles: Set(roles)))
        }
        return entries
    }

    /// What makes tokens those of one authenticator.
    private struct TokenMark: Hashable {
        let issuer: ExactText
        let audience: ExactText
        let keys: String?
    }

    /// Refuses two providers, or session issuers, that take the same tokens: the second would know nobody.
    func refuseSharedTokens() throws(ConfigurationError) {
        var owners: [TokenMark: String] = [:]
        func add(
            _ path: String, issuer: String, audiences: Set<String>, keys: String?
        ) throws(ConfigurationError) {
            for audience in audiences.sorted() {
                let mark = TokenMark(issuer: ExactText(issuer), audience: ExactText(audience), keys: keys)
                if let owner = owners.updateValue(path, forKey: mark) {
                    throw ConfigurationError(
                        "\(owner) and \(path) both take the tokens of \(issuer.prefix(64)) for the audience "
                            + "\(audience.prefix(64)); name it under one of them, whose name the rules go by.")
                }
            }
        }
        for provider in self.identityProviders {
            try add(
                "callers.oidc.\(provider.label)", issuer: provider.issuer, audiences: provider.audiences,
                keys: provider.keysAddress)
        }
        for session in self.sessions {
            try add(
                "callers.session.\(session.label)", issuer: session.issuer, audiences: session.audiences,
                keys: session.secretFile)
        }
    }

    /// Reads the proxies that say for whom they ask.
    static func forwardingProxies(in values: ConfigurationValues) throws(ConfigurationError) -> ForwardingProxies? {
        guard values["listen.proxies"] != nil else { return nil }
        do throws(ConfigurationError) {
            return try ForwardingProxies(try values.ranges("listen.proxies"))
        } catch {
            throw ConfigurationError("listen.proxies: \(error.message)")
        }
    }

    /// Reads the proxies whose headers are believed.
    static func proxies(in values: ConfigurationValues) throws(ConfigurationError) -> [TrustedProxyAuthenticator] {
        var proxies: [TrustedProxyAuthenticator] = []
        for label in values.names(in: "callers.proxy") {
            let path = "callers.proxy.\(label)"
            guard let subject = values["\(path).subject_header"] else {
                throw ConfigurationError(
                    "The setting \(path).subject_header is missing; set it to the header that names the user.")
            }
            let peers = try values.ranges("\(path).peers")
            var claims: [String: String] = [:]
            for pair in values.list("\(path).claim_headers") {
                let parts = pair.split(separator: "=", omittingEmptySubsequences: false)
                    .map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
                guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else {
                    throw ConfigurationError("\(path).claim_headers must be written like X-Groups=groups.")
                }
                guard claims.updateValue(parts[1], forKey: parts[0]) == nil else {
                    throw ConfigurationError(
                        "\(path).claim_headers names the header \(parts[0].prefix(64)) twice; let it hold one claim.")
                }
            }
            do throws(TokenServerError) {
                proxies.append(
                    try TrustedProxyAuthenticator(
                        label: label, peers: peers, subjectHeader: subject, claimHeaders: claims))
            } catch {
                throw ConfigurationError(error.message)
            }
        }
        return proxies
    }
}
