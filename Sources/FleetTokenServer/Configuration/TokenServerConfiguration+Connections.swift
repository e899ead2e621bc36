// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

extension TokenServerConfiguration {
    /// What clients must show of themselves when they open a TLS connection.
    public enum ClientCertificates: Hashable, Sendable {
        /// Nothing.
        case none
        /// A certificate that one of a file's authorities signed, where they have one.
        case optional(authorities: String)
        /// A certificate that one of a file's authorities signed; others get no connection.
        case required(authorities: String)

        /// The file of the authorities, if any.
        public var authorities: String? {
            switch self {
            case .none: nil
            case .optional(let file), .required(let file): file
            }
        }
    }

    /// Reads the callers that are known by their connections.
    static func certificateCallers(
        in values: ConfigurationValues
    ) throws(TokenServerError) -> [ClientCertificateAuthenticator.Entry] {
        var entries: [ClientCertificateAuthenticator.Entry] = []
        for name in values.names(in: "callers.certificate") {
            let path = "callers.certificate.\(name)"
            let identities: [ClientCertificateAuthenticator.Identity] = [
                values["\(path).uri"].map { .uri($0) }, values["\(path).dns_name"].map { .dnsName($0) },
                values["\(path).fingerprint"].map { .fingerprint($0.lowercased().replacing(":", with: "")) },
            ].compactMap(\.self)
            guard identities.count == 1, let identity = identities.first else {
                throw ConfigurationValues.invalid(
                    "\(path) takes one of uri, dns_name and fingerprint, which say whose certificate it is.")
            }
            if case .fingerprint(let digits) = identity, digits.count != 64 || !digits.allSatisfy(\.isHexDigit) {
                throw ConfigurationValues.invalid(
                    "\(path).fingerprint must be the SHA-256 of the certificate, 64 hexadecimal digits, as openssl x509 "
                        + "-noout -fingerprint -sha256 prints it.")
            }
            let roles = values.list("\(path).roles").map(Role.init(rawValue:))
            if let unknown = roles.first(where: { !Role.known.contains($0) }) {
                throw ConfigurationValues.invalid(
                    "\(path).roles: there is no role \(unknown.rawValue.prefix(64)); there are "
                        + "\(Role.known.map(\.rawValue).joined(separator: ", ")).")
            }
            entries.append(.init(identity: identity, name: name, roles: Set(roles)))
        }
        return entries
    }

    /// Reads the proxies whose headers are believed.
    static func proxies(in values: ConfigurationValues) throws(TokenServerError) -> [TrustedProxyAuthenticator] {
        var proxies: [TrustedProxyAuthenticator] = []
        for label in values.names(in: "callers.proxy") {
            let path = "callers.proxy.\(label)"
            guard let subject = values["\(path).subject_header"] else {
                throw ConfigurationValues.invalid(
                    "The setting \(path).subject_header is missing; set it to the header that names the user.")
            }
            var peers: [AddressRange] = []
            for range in values.list("\(path).peers") { peers.append(try AddressRange(range)) }
            var claims: [String: String] = [:]
            for pair in values.list("\(path).claim_headers") {
                let parts = pair.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
                guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else {
                    throw ConfigurationValues.invalid("\(path).claim_headers must be written like X-Groups=groups.")
                }
                claims[parts[0]] = parts[1]
            }
            proxies.append(
                try TrustedProxyAuthenticator(
                    label: label, peers: peers, subjectHeader: subject, claimHeaders: claims))
        }
        return proxies
    }

    /// Reads what clients must show of themselves.
    static func clientCertificates(
        in values: ConfigurationValues, authorities: String?, hasTLS: Bool, hasCallers: Bool
    ) throws(TokenServerError) -> ClientCertificates {
        guard let authorities else {
            guard !hasCallers else {
                throw ConfigurationValues.invalid(
                    "callers.certificate needs listen.tls.client_ca, the certificates of the authorities that sign "
                        + "clients' certificates.")
            }
            return .none
        }
        guard hasTLS else {
            throw ConfigurationValues.invalid(
                "listen.tls.client_ca needs a server with TLS; set listen.tls.certificate and listen.tls.key.")
        }
        return values["listen.tls.client_certificate"] == "required"
            ? .required(authorities: authorities) : .optional(authorities: authorities)
    }
}
