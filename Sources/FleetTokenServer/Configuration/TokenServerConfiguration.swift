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

    /// The provider id.
    public var provider: ProviderID
    /// The folder of the store.
    public var data: String
    /// The address of the PostgreSQL database that holds the store; `nil` keeps it in ``data``.
    public var postgreSQL: String?
    /// The folder of the service accounts' key files.
    public var keys: String
    /// The address to listen on.
    public var host: String
    /// The port; 0 picks a free one.
    public var port: Int
    /// The files of TLS; `nil` serves plain HTTP.
    public var tls: TLSFiles?
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
    /// The file of rules; `nil` gives callers every token of their own roles.
    public var policyFile: String?
    /// The file of the secret that requests to the policy's webhook are signed with.
    public var policySecretFile: String?
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
            guard let value = values[path] else { throw ConfigurationValues.invalid("The setting \(path) is missing.") }
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
        self.keys = try requiredFile("keys")
        self.host = try required("listen.host")
        self.port = try number("listen.port")
        switch (file("listen.tls.certificate"), file("listen.tls.key")) {
        case (let certificate?, let key?): self.tls = TLSFiles(certificate: certificate, key: key)
        case (nil, nil): self.tls = nil
        default:
            throw ConfigurationValues.invalid("listen.tls takes both certificate and key, or neither.")
        }
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
            global: values["limits.global"].flatMap(ConfigurationOption.rate))
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
        guard self.callersFile != nil || !self.identityProviders.isEmpty || !self.sessions.isEmpty else {
            throw ConfigurationValues.invalid(
                "No authenticator is set up, so anyone could have any token; name one under callers.")
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
