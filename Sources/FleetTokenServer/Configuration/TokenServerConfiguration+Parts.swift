// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetSigning
package import FleetTokens
import Foundation

extension TokenServerConfiguration {
    /// Who is let in.
    ///
    /// Files are read here and now; a ``TokenServer`` reads those of callers again when they change.
    ///
    /// - Parameters:
    ///   - transport: Fetches identity providers' keys.
    ///   - metrics: Shows how often that was done; `nil` for none.
    /// - Returns: The authenticators of the configuration, as one.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    public func authenticator(
        transport: any UpstreamTransport, metrics: TokenServerMetrics? = nil
    ) throws(TokenServerError) -> any CallerAuthenticator {
        let providers = try self.providers(transport: transport, metrics: metrics)
        return CallerAuthenticators(try self.authenticators(callers: try self.callers(), providers: providers))
    }

    /// The identity providers, of whose users some may be administrators; each has its keys once for both.
    func providers(
        transport: any UpstreamTransport, metrics: TokenServerMetrics?
    ) throws(TokenServerError) -> [IDTokenAuthenticator] {
        let providers = try IDTokenAuthenticator.all(self.identityProviders, transport: transport)
        metrics?.show(identityKeys: IDTokenAuthenticator.keySets(of: providers))
        return providers
    }

    /// The callers with bearer secrets, if there is a file of them.
    func callers() throws(TokenServerError) -> CallersFile? {
        guard let callersFile else { return nil }
        return try CallersFile(callersFile)
    }

    /// The authenticators of the configuration, in the order in which they are asked.
    func authenticators(
        callers: CallersFile?, providers: [IDTokenAuthenticator]
    ) throws(TokenServerError) -> [any CallerAuthenticator] {
        var members: [any CallerAuthenticator] = providers
        for session in self.sessions {
            members.append(
                try SessionTokenAuthenticator(
                    label: session.label, issuer: session.issuer, audiences: session.audiences,
                    secrets: [try Self.secret(session.secretFile)], nameClaim: session.nameClaim))
        }
        if let callers { members.append(callers) }
        if !self.certificateCallers.isEmpty {
            members.append(try ClientCertificateAuthenticator(entries: self.certificateCallers))
        }
        return members + self.proxies
    }

    /// Who may use the admin API.
    ///
    /// The file of secrets is read here and now; a ``TokenServer`` reads it again when it changes.
    ///
    /// - Parameter transport: Fetches the identity provider's keys.
    /// - Returns: The administrators, or `nil` where there are to be none.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    public func administrators(transport: any UpstreamTransport) throws(TokenServerError) -> Administrators? {
        let provider = self.identityProviders.filter { $0.label == self.admin?.rule?.provider }
        return self.administrators(
            secrets: try self.administratorsFile(),
            providers: try IDTokenAuthenticator.all(provider, transport: transport))
    }

    /// The administrators with bearer secrets, if there is a file of them.
    func administratorsFile() throws(TokenServerError) -> CallersFile? {
        guard let path = self.admin?.callersFile else { return nil }
        return try CallersFile(path, of: .administrators)
    }

    /// Who may use the admin API, those with bearer secrets by their file.
    func administrators(secrets: CallersFile?, providers: [IDTokenAuthenticator]) -> Administrators? {
        guard let admin else { return nil }
        var rule: Administrators.Rule?
        if let wanted = admin.rule, let found = providers.first(where: { $0.rules.label == wanted.provider }) {
            rule = Administrators.Rule(provider: found, claim: wanted.claim, values: wanted.values)
        }
        return Administrators(file: secrets, rule: rule)
    }

    /// What they may have.
    ///
    /// - Parameters:
    ///   - assignments: Knows who holds what.
    ///   - transport: Asks the policy's webhook.
    ///   - metrics: Shows how that answers; `nil` for none.
    /// - Returns: The policy of the configuration.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    public func policy(
        assignments: any AssignmentStore, transport: any UpstreamTransport, metrics: TokenServerMetrics? = nil
    ) throws(TokenServerError) -> any TokenPolicy {
        guard let policyFile else { return RolePolicy() }
        var webhook: RulePolicy.WebhookAccess?
        if let policySecretFile {
            webhook = RulePolicy.WebhookAccess(secret: try Self.secret(policySecretFile), transport: transport)
        }
        guard let text = String(data: try Self.read(policyFile), encoding: .utf8) else {
            throw TokenServerError(
                code: .invalidConfiguration, message: "The policy \(policyFile) is no UTF-8 text; save it as UTF-8.")
        }
        let policy = try RulePolicy(yaml: text, file: policyFile, assignments: assignments, webhook: webhook)
        if let metrics { policy.report(to: metrics) }
        return policy
    }

    /// The roles that are granted, by the rules of a policy or, without rules, to callers as their own, and that nothing
    /// signs for.
    ///
    /// - Parameters:
    ///   - policy: The policy of the configuration.
    ///   - served: The roles that something signs for.
    /// - Returns: The roles, by their names; empty where all that are granted are served.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    package func unservedRoles(
        of policy: any TokenPolicy, served: Set<Role>
    ) throws(TokenServerError) -> [UnservedRole] {
        var grants = (policy as? RulePolicy)?.grants ?? [:]
        if policy is RolePolicy {
            for caller in try self.callers()?.knownCallers ?? [] {
                for role in caller.roles { grants[role, default: []].append("the caller \(caller.name)") }
            }
            for entry in self.certificateCallers {
                for role in entry.roles { grants[role, default: []].append("callers.certificate.\(entry.name)") }
            }
        }
        return grants.filter { !served.contains($0.key) }.sorted { $0.key.rawValue < $1.key.rawValue }
            .map { UnservedRole(role: $0.key, grantors: $0.value) }
    }

    /// The callers whom a policy that looks at roles alone grants nothing, as their authenticators give none.
    ///
    /// - Parameter policy: The policy of the configuration.
    /// - Returns: What lets them in; `nil` where there are none, or rules decide.
    package func rolelessCallers(of policy: any TokenPolicy) -> RolelessCallers? {
        guard policy is RolePolicy else { return nil }
        let certificates = self.certificateCallers.filter(\.roles.isEmpty)
        let authenticators =
            self.identityProviders.map { "callers.oidc.\($0.label)" }
            + self.sessions.map { "callers.session.\($0.label)" }
            + self.proxies.map { "callers.proxy.\($0.label)" }
            + certificates.map { "callers.certificate.\($0.name)" }
        guard !authenticators.isEmpty else { return nil }
        // Every entry of the callers' file has a role.
        let isEverybody = self.callersFile == nil && certificates.count == self.certificateCallers.count
        return RolelessCallers(authenticators: authenticators, isEverybody: isEverybody)
    }

    /// The file of the key that signs the list of revocations, in the data folder unless it is set; a server makes one
    /// where there is none.
    package var revocationKeyPath: String {
        self.revocationKeyFile
            ?? URL(filePath: self.data).appending(path: RevocationKeyFile.name).path(percentEncoded: false)
    }

    private static func secret(_ path: String) throws(TokenServerError) -> SharedSecret {
        let bytes = try Self.read(path)
        do throws(TokenServerError) {
            return try SharedSecret(file: bytes)
        } catch {
            throw TokenServerError(code: error.code, message: "\(path): \(error.message)")
        }
    }

    private static func read(_ path: String) throws(TokenServerError) -> Data {
        guard let bytes = try? Data(contentsOf: URL(filePath: path)) else {
            throw TokenServerError(
                code: .invalidConfiguration,
                message:
                    "The file \(path) cannot be read; create it, let this user read it, or mend its path, which starts at "
                    + "the configuration's folder.")
        }
        return bytes
    }
}
