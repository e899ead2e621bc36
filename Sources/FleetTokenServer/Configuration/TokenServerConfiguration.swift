// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetOperation
public import FleetTokens
public import Foundation

/// How a token server is set up, from one YAML file and the environment.
public struct TokenServerConfiguration: Sendable {
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

        /// Takes the session tokens of a backend.
        ///
        /// - Parameters:
        ///   - label: Its label, under which rules and assignments know its users; no other's.
        ///   - issuer: The `iss` of its tokens.
        ///   - audiences: The values of `aud` that are taken, at least one.
        ///   - secretFile: The file of the shared secret.
        ///   - nameClaim: The claim that names users in logs.
        public init(
            label: String, issuer: String, audiences: Set<String>, secretFile: String, nameClaim: String = "sub"
        ) {
            self.label = label
            self.issuer = issuer
            self.audiences = audiences
            self.secretFile = secretFile
            self.nameClaim = nameClaim
        }
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

            /// Makes users administrators by a claim.
            ///
            /// - Parameters:
            ///   - provider: The label of one of ``TokenServerConfiguration/identityProviders``.
            ///   - claim: The claim that tells them.
            ///   - values: The values of which it must have one.
            public init(provider: String, claim: String, values: Set<String>) {
                self.provider = provider
                self.claim = claim
                self.values = values
            }
        }

        /// The file of administrators with bearer secrets, if any.
        public var callersFile: String?
        /// Which users are administrators, if any.
        public var rule: Rule?

        /// Names the administrators, by one of the two or both.
        public init(callersFile: String? = nil, rule: Rule? = nil) {
            self.callersFile = callersFile
            self.rule = rule
        }
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
    /// The proxies in front, which say for whom they ask; `nil` where there are none.
    public var forwardingProxies: ForwardingProxies?
    /// The files of TLS, and what clients must show of themselves; `nil` serves plain HTTP.
    public var tls: ListenerTLS?
    /// What a client may use up.
    public var limits: ConnectionLimits
    /// How often may be asked.
    public var requestLimits: RequestLimits
    /// How many requests for tokens are worked on at once.
    package var pendingLimits: PendingRequests.Limits
    /// How often one address may send wrong credentials to the admin API.
    public var failedLogins: RateLimit
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
    /// The file of rules; `nil` gives callers every token of their own roles, and those without roles none.
    public var policyFile: String?
    /// The file of the secret that requests to the policy's webhook are signed with.
    public var policySecretFile: String?
    /// Who may use the admin API; `nil` leaves it off.
    public var admin: Admin?
    /// The file of the key that signs the list of revocations; `nil` keeps one in the data folder.
    public var revocationKeyFile: String?
    /// What is logged, and how.
    public var log: LogSettings

    /// Reads a configuration.
    ///
    /// - Parameters:
    ///   - yaml: The file's text.
    ///   - folder: The folder that relative paths start at.
    ///   - environment: The environment; its `FLEETPASS_…` variables go before the file.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    public init(yaml: String, folder: URL, environment: [String: String]) throws(TokenServerError) {
        do throws(ConfigurationError) {
            try self.init(ConfigurationValues(.tokenServer, yaml: yaml, environment: environment), folder: folder)
        } catch {
            throw TokenServerError(error)
        }
    }

    private init(_ values: ConfigurationValues, folder: URL) throws(ConfigurationError) {
        func required(_ path: String) throws(ConfigurationError) -> String { try values.required(path) }
        func file(_ path: String) -> String? { values.file(path, in: folder) }
        func requiredFile(_ path: String) throws(ConfigurationError) -> String {
            _ = try required(path)
            return file(path) ?? ""
        }
        let provider = try required("provider")
        do throws(TokenError) {
            self.provider = try ProviderID(checking: provider)
        } catch {
            throw ConfigurationError("The setting provider: \(error.message)")
        }
        self.data = try requiredFile("data")
        self.postgreSQL = values["store.postgresql"]
        self.keys = file("keys")
        self.signers = try SignerSettings.all(in: values, file: file)
        self.google = try GoogleSettings(in: values, credentialFile: file("google.credentials"))
        guard self.keys != nil || !self.signers.isEmpty else {
            throw ConfigurationError(
                "Nothing is set up to sign with. Set keys to a folder of key files ROLE.json, or, without a key on the "
                    + "disk, signers.driver.account to a service account's e-mail, and so for each role.")
        }
        self.host = try required("listen.host")
        self.port = try values.number("listen.port")
        self.forwardingProxies = try Self.forwardingProxies(in: values)
        self.certificateCallers = try Self.certificateCallers(in: values)
        self.proxies = try Self.proxies(in: values)
        self.tls = try ListenerTLS.read(in: values, folder: folder, host: self.host, protecting: "tokens")
        guard self.certificateCallers.isEmpty || self.tls.map({ $0.clients != .none }) == true else {
            throw ConfigurationError(
                "callers.certificate needs listen.tls.client_ca, the certificates of the authorities that sign "
                    + "clients' certificates.")
        }
        self.limits = try ConnectionLimits(in: values)
        func list(_ path: String) throws(ConfigurationError) -> Set<String> {
            _ = try required(path)
            let words = Set(values.list(path))
            guard !words.isEmpty else {
                throw ConfigurationError("The setting \(path) names nothing; write its values with commas between.")
            }
            return words
        }
        self.requestLimits = RequestLimits(
            perCaller: Self.rate("limits.per_caller", in: values),
            perSubject: Self.rate("limits.per_subject", in: values),
            global: Self.rate("limits.global", in: values),
            refusedPerCaller: Self.rate("limits.refused_per_caller", in: values))
        let burst = try values.number("limits.pending")
        // Whoever waits for Google's signatures or the policy's webhook takes no processor's time.
        let signsAtOnce = self.signers.isEmpty && values["policy.secret_file"] == nil
        let steady = signsAtOnce ? 4 * Processors.count : burst
        self.pendingLimits = PendingRequests.Limits(
            burst: burst, steady: values["limits.steady"] == nil ? steady : try values.number("limits.steady"))
        guard let failedLogins = Self.rate("limits.failed_logins", in: values) else {
            throw ConfigurationError("The setting limits.failed_logins must be a number and a time like 10/1m.")
        }
        self.failedLogins = failedLogins
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
        try Self.checkLabels(in: values)
        self.policyFile = file("policy.file")
        self.policySecretFile = file("policy.secret_file")
        guard self.policyFile != nil || self.policySecretFile == nil else {
            throw ConfigurationError(
                "policy.secret_file goes with policy.file, which is missing; without a policy callers get every token of "
                    + "their own roles.")
        }
        if let provider = values["admin.provider"] {
            guard self.identityProviders.contains(where: { $0.label == provider }) else {
                throw ConfigurationError(
                    "The setting admin.provider names \(provider.prefix(64)), which is not under callers.oidc.")
            }
            self.admin = Admin(
                rule: .init(
                    provider: provider, claim: try required("admin.claim"), values: try list("admin.values")))
        } else if values["admin.claim"] != nil || values["admin.values"] != nil {
            throw ConfigurationError("admin.claim and admin.values go with admin.provider, which is missing.")
        }
        if let callersFile = file("admin.callers_file") {
            self.admin = Admin(callersFile: callersFile, rule: self.admin?.rule)
        }
        self.revocationKeyFile = file("revocations.key_file")
        self.log = try LogSettings(in: values)
        try self.refuseSharedTokens()
    }

    /// The labels of the authenticators, which are the issuers of callers.
    package var issuerLabels: [String] {
        self.identityProviders.map(\.label) + self.sessions.map(\.label) + self.proxies.map(\.label)
            + (self.callersFile == nil ? [] : ["static"]) + (self.certificateCallers.isEmpty ? [] : ["certificate"])
    }

    /// Looks at the labels of the authenticators: none makes different people one, and a holder of assignments can have
    /// each.
    private static func checkLabels(in values: ConfigurationValues) throws(ConfigurationError) {
        let labels = ["oidc", "session", "proxy"].flatMap { values.names(in: "callers.\($0)") }
        for label in labels where label.contains("/") || !CallerID.isUsable(subject: label) {
            throw ConfigurationError(
                "The name \(label.prefix(64)) under callers must be 1 to 255 printable ASCII characters without a slash; "
                    + "assignments know its users by the name, a slash, and the subject.")
        }
        // What callers.file, callers.certificate, admin.callers_file and commands go by.
        let reserved = ["static", "certificate", "admin", AuditChange.Actor.commandLineIssuer]
        var taken = Set(reserved)
        for label in labels where !taken.insert(label).inserted {
            throw ConfigurationError(
                "The name \(label.prefix(64)) under callers is taken, so that the rules and assignments of other callers "
                    + "would count for these too, or the audit could not tell who made a change; give each provider, "
                    + "session issuer and proxy a name of its own, other than \(reserved.joined(separator: ", ")).")
        }
    }

    /// Refuses to go without any way to know who asks.
    ///
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    package func requireCallers() throws(TokenServerError) {
        let hasCallers =
            self.callersFile != nil || !self.identityProviders.isEmpty || !self.sessions.isEmpty
            || !self.certificateCallers.isEmpty || !self.proxies.isEmpty
        guard !hasCallers else { return }
        throw TokenServerError(
            code: .invalidConfiguration,
            message: "No authenticator is set up, so anyone could have any token. For apps whose users log in, set "
                + "callers.oidc.login.issuer and callers.oidc.login.audience; for backends, callers.file or "
                + "callers.certificate; for your own session tokens, callers.session. See docs/configuration.md.")
    }

    /// Refuses a policy with a rule for an issuer that is none of the labels, or for a role that no authenticator of a
    /// configuration gives: nobody would match it.
    ///
    /// - Parameter policy: The policy of the configuration.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``, line and column.
    package func checkCallers(of policy: any TokenPolicy) throws(TokenServerError) {
        if let rules = policy as? RulePolicy { try rules.check(issuers: self.issuerLabels, roles: PolicyTarget.roles) }
    }

    private static func rate(_ path: String, in values: ConfigurationValues) -> RateLimit? {
        values[path].flatMap(ConfigurationOption.rate).flatMap { try? RateLimit($0.count, per: $0.period) }
    }
}

/// It names databases by addresses that may hold passwords: printing it shows the provider only.
extension TokenServerConfiguration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The provider.
    public var description: String { "TokenServerConfiguration(provider: \(self.provider))" }
    /// The same as ``description``.
    public var debugDescription: String { self.description }
    /// A mirror that shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["configuration": self.description]) }
}
