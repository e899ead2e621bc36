// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
public import Foundation
public import Logging

/// How a token server is set up, from one YAML file and the environment.
public struct TokenServerConfiguration: Sendable {
    /// A certificate and its key.
    public struct TLSFiles: Hashable, Sendable {
        /// The certificate chain's file.
        public var certificate: String
        /// The private key's file.
        public var key: String
    }

    /// A backend whose session tokens are taken.
    public struct SessionIssuer: Hashable, Sendable {
        /// Its label in rules, assignments and the audit.
        public var label: String
        /// The `iss` of its tokens.
        public var issuer: String
        /// The values of `aud` that are taken.
        public var audiences: Set<String>
        /// The file of the shared secret.
        public var secretFile: String
        /// The claim that names users in logs.
        public var nameClaim: String
    }

    /// What a client may use up.
    public struct Limits: Hashable, Sendable {
        /// Connections at once.
        public var connections: Int
        /// All header fields of a request together.
        public var headerBytes: Int
        /// Header fields of a request.
        public var headerFields: Int
        /// How long a connection may be without traffic.
        public var idle: Duration
    }

    /// Who may use the admin API.
    public struct Admin: Hashable, Sendable {
        /// Which users of an identity provider are administrators.
        public struct Rule: Hashable, Sendable {
            /// The provider's label.
            public var provider: String
            /// The claim that tells them.
            public var claim: String
            /// The values of which it must have one.
            public var values: Set<String>
        }

        /// The file of administrators with bearer secrets, if any.
        public var callersFile: String?
        /// Which users are administrators, if any.
        public var rule: Rule?
    }

    /// The provider id.
    public var provider: ProviderID
    /// The folder of the store.
    public var data: String
    /// The address of the PostgreSQL database that holds the store; `nil` keeps it in ``data``.
    public var postgreSQL: String?
    /// The folder of the service accounts' key files, if any.
    public var keys: String?
    /// How roles are signed that do not simply sign with the folder's keys.
    public var signers: [SignerSettings]
    /// How Google's services are reached.
    public var google: GoogleSettings
    /// The address to listen on.
    public var host: String
    /// The port; 0 picks a free one.
    public var port: Int
    /// The files of TLS; `nil` serves plain HTTP.
    public var tls: TLSFiles?
    /// What clients must show of themselves when they open a TLS connection.
    public var clientCertificates: ClientCertificates
    /// What a client may use up.
    public var limits: Limits
    /// How often may be asked.
    public var requestLimits: RequestLimits
    /// The origins of web pages that may ask.
    public var origins: Set<String>
    /// The file of callers with bearer secrets, if any.
    public var callersFile: String?
    /// The identity providers whose ID tokens are taken.
    public var identityProviders: [IDTokenAuthenticator.Configuration]
    /// The backends whose session tokens are taken.
    public var sessions: [SessionIssuer]
    /// The callers with client certificates.
    public var certificateCallers: [ClientCertificateAuthenticator.Entry]
    /// The reverse proxies that identify users.
    public var proxies: [TrustedProxyAuthenticator]
    /// The file of rules; `nil` gives callers every token of their own roles.
    public var policyFile: String?
    /// The file of the secret that requests to the policy's webhook are signed with.
    public var policySecretFile: String?
    /// Who may use the admin API; `nil` leaves it off.
    public var admin: Admin?
    /// The file of the key that signs the list of revocations; `nil` keeps one in the data folder.
    public var revocationKeyFile: String?
    /// What is logged.
    public var logLevel: Logger.Level
    /// Whether log lines are JSON.
    public var logsJSON: Bool

    /// Reads a configuration.
    ///
    /// - Parameters:
    ///   - yaml: The file's text.
    ///   - folder: The folder that relative paths start at.
    ///   - environment: The environment; its `FLEETPASS_…` variables go before the file.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    public init(yaml: String, folder: URL, environment: [String: String]) throws(TokenServerError) {
        let values = try ConfigurationValues(yaml: yaml, environment: environment)
        func required(_ path: String) throws(TokenServerError) -> String {
            guard let value = values[path] else {
                throw ConfigurationValues.invalid(
                    "The setting \(path) is missing; add it to the file, or set the variable "
                        + "\(ConfigurationOption.variable(path)).")
            }
            return value
        }
        func number(_ path: String) throws(TokenServerError) -> Int { Int(try required(path)) ?? 0 }
        func file(_ path: String) -> String? {
            values[path].map { URL(filePath: $0, relativeTo: folder).path(percentEncoded: false) }
        }
        func requiredFile(_ path: String) throws(TokenServerError) -> String {
            _ = try required(path)
            return file(path) ?? ""
        }
        do throws(TokenError) {
            self.provider = try ProviderID(checking: values["provider"] ?? "")
        } catch {
            throw ConfigurationValues.invalid("The setting provider: \(error.message)")
        }
        self.data = try requiredFile("data")
        self.postgreSQL = values["store.postgresql"]
        self.keys = file("keys")
        self.signers = try SignerSettings.all(in: values, file: file)
        self.google = try GoogleSettings(in: values, credentialFile: file("google.credentials"))
        guard self.keys != nil || !self.signers.isEmpty else {
            throw ConfigurationValues.invalid(
                "Nothing is set up to sign with. Set keys to a folder of key files ROLE.json, or, without a key on the "
                    + "disk, signers.driver.account to a service account's e-mail, and so for each role.")
        }
        self.host = try required("listen.host")
        self.port = try number("listen.port")
        switch (file("listen.tls.certificate"), file("listen.tls.key")) {
        case (let certificate?, let key?): self.tls = TLSFiles(certificate: certificate, key: key)
        case (nil, nil): self.tls = nil
        default:
            throw ConfigurationValues.invalid("listen.tls takes both certificate and key, or neither.")
        }
        self.certificateCallers = try Self.certificateCallers(in: values)
        self.proxies = try Self.proxies(in: values)
        self.clientCertificates = try Self.clientCertificates(
            in: values, authorities: file("listen.tls.client_ca"), hasTLS: self.tls != nil,
            hasCallers: !self.certificateCallers.isEmpty)
        self.limits = Limits(
            connections: try number("limits.connections"), headerBytes: try number("limits.header_bytes"),
            headerFields: try number("limits.header_fields"),
            idle: ConfigurationOption.duration(try required("limits.idle")) ?? .seconds(75))
        func list(_ path: String) throws(TokenServerError) -> Set<String> {
            Set(try required(path).split(separator: ",").map { $0.trimmingPrefix(" ").description })
        }
        self.requestLimits = RequestLimits(
            perCaller: values["limits.per_caller"].flatMap(ConfigurationOption.rate),
            perSubject: values["limits.per_subject"].flatMap(ConfigurationOption.rate),
            global: values["limits.global"].flatMap(ConfigurationOption.rate), pending: try number("limits.pending"))
        self.origins = values["cors.origins"] == nil ? [] : try list("cors.origins")
        self.callersFile = file("callers.file")
        self.identityProviders = []
        for label in values.names(in: "callers.oidc") {
            let path = "callers.oidc.\(label)"
            self.identityProviders.append(
                .init(
                    label: label, issuer: try required("\(path).issuer"), audiences: try list("\(path).audience"),
                    keysAddress: values["\(path).keys"], nameClaim: try required("\(path).name_claim")))
        }
        self.sessions = []
        for label in values.names(in: "callers.session") {
            let path = "callers.session.\(label)"
            self.sessions.append(
                SessionIssuer(
                    label: label, issuer: try required("\(path).issuer"), audiences: try list("\(path).audience"),
                    secretFile: try requiredFile("\(path).secret_file"), nameClaim: try required("\(path).name_claim")))
        }
        self.policyFile = file("policy.file")
        self.policySecretFile = file("policy.secret_file")
        if let provider = values["admin.provider"] {
            guard self.identityProviders.contains(where: { $0.label == provider }) else {
                throw ConfigurationValues.invalid(
                    "The setting admin.provider names \(provider.prefix(64)), which is not under callers.oidc.")
            }
            self.admin = Admin(
                rule: .init(
                    provider: provider, claim: try required("admin.claim"), values: try list("admin.values")))
        } else if values["admin.claim"] != nil || values["admin.values"] != nil {
            throw ConfigurationValues.invalid("admin.claim and admin.values go with admin.provider, which is missing.")
        }
        if let callersFile = file("admin.callers_file") {
            self.admin = Admin(callersFile: callersFile, rule: self.admin?.rule)
        }
        self.revocationKeyFile = file("revocations.key_file")
        let hasCallers =
            self.callersFile != nil || !self.identityProviders.isEmpty || !self.sessions.isEmpty
            || !self.certificateCallers.isEmpty || !self.proxies.isEmpty
        guard hasCallers else {
            throw ConfigurationValues.invalid(
                "No authenticator is set up, so anyone could have any token. For apps whose users log in, set "
                    + "callers.oidc.login.issuer and callers.oidc.login.audience; for backends, callers.file or "
                    + "callers.certificate; for your own session tokens, callers.session. See docs/configuration.md.")
        }
        self.logLevel = Logger.Level(rawValue: try required("log.level")) ?? .info
        self.logsJSON = try required("log.format") == "json"
        guard self.tls != nil || Self.isLoopback(self.host) else {
            throw ConfigurationValues.invalid(
                "\(self.host) can be reached by other machines, and tokens would travel in the clear; "
                    + "set listen.tls, or listen on 127.0.0.1 behind a proxy that ends TLS.")
        }
    }

    /// Whether an address is this machine's own.
    public static func isLoopback(_ host: String) -> Bool {
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return host == "::1" || (numbers.count == 4 && numbers.allSatisfy { $0 != nil } && numbers[0] == 127)
    }
}
