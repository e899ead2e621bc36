// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens

/// A credential file, read into the source that it describes.
struct CredentialFile {
    let members: JSONObject
    let origin: String
    let context: CredentialContext

    init(_ bytes: [UInt8], origin: String, context: CredentialContext) throws(CredentialError) {
        guard let members = (try? JSONValue(parsing: bytes))?.object else {
            throw CredentialError(
                code: .invalidConfiguration, message: "The credentials in \(origin) are not a JSON object.")
        }
        self.init(members: members.withoutNulls, origin: origin, context: context)
    }

    private init(members: JSONObject, origin: String, context: CredentialContext) {
        self.members = members
        self.origin = origin
        self.context = context
    }

    /// Reads the credentials.
    ///
    /// - Parameter quotaProject: The project to bill, before the file's own.
    /// - Returns: The credentials; nothing is fetched yet.
    /// - Throws: ``CredentialError`` with ``CredentialError/Code/invalidConfiguration`` or
    ///   ``CredentialError/Code/untrustedHost``.
    func credential(quotaProject: String?) throws(CredentialError) -> GoogleCredential {
        let type = try self.text("type")
        let quotaProject = quotaProject ?? self.optionalText("quota_project_id")
        switch GoogleCredential.Kind(rawValue: type) {
        case .serviceAccount: return try self.serviceAccount(quotaProject)
        case .authorizedUser: return try self.authorizedUser(quotaProject)
        case .impersonatedServiceAccount: return try self.impersonated(quotaProject)
        case .externalAccount: return try self.externalAccount(quotaProject)
        case .externalAccountAuthorizedUser: return try self.externalAuthorizedUser(quotaProject)
        case .metadataServer, nil:
            throw self.invalid("are of the unknown type \"\(type.prefix(64))\"")
        }
    }

    private func serviceAccount(_ quotaProject: String?) throws(CredentialError) -> GoogleCredential {
        let key: ServiceAccountKey
        do throws(SigningError) {
            key = try ServiceAccountKey(json: JSONValue.object(self.members).serialized)
        } catch {
            throw CredentialError(
                code: .invalidConfiguration, message: "The credentials in \(self.origin): \(error.message)",
                cause: error)
        }
        let endpoint = self.optionalText("token_uri") ?? OAuth.tokenEndpoint
        guard endpoint.hasPrefix("https://"), HostRules.host(of: endpoint) != nil else {
            throw self.untrusted("token_uri")
        }
        let source = ServiceAccountSource(
            key: key, tokenEndpoint: endpoint, universe: self.universe, context: self.context)
        return GoogleCredential(
            kind: .serviceAccount, source: source, context: self.context, quotaProject: quotaProject,
            projectID: key.projectID, universe: self.universe, account: key.account)
    }

    private func authorizedUser(_ quotaProject: String?) throws(CredentialError) -> GoogleCredential {
        // The refresh token would go to the usual universe's endpoint, whatever universe it is of.
        guard self.universe == OAuth.defaultUniverse else {
            throw self.invalid(
                "are a person's of the universe \"\(self.universe.prefix(64))\", and persons' are taken of "
                    + "\(OAuth.defaultUniverse) alone; use a service account's or an external account's there")
        }
        let source = AuthorizedUserSource(
            clientID: try self.text("client_id"), clientSecret: try self.text("client_secret"),
            refreshToken: try self.text("refresh_token"), context: self.context)
        return GoogleCredential(
            kind: .authorizedUser, source: source, context: self.context, quotaProject: quotaProject)
    }

    private func impersonated(_ quotaProject: String?) throws(CredentialError) -> GoogleCredential {
        guard let nested = self.members["source_credentials"]?.object else {
            throw self.invalid("have no \"source_credentials\"")
        }
        guard nested["type"] != .string(GoogleCredential.Kind.impersonatedServiceAccount.rawValue) else {
            throw self.invalid("impersonate from an impersonated account; list the accounts between as \"delegates\"")
        }
        let source = try CredentialFile(
            members: nested, origin: "source_credentials of \(self.origin)", context: self.context
        ).credential(quotaProject: nil)
        let universe = nested["universe_domain"]?.string ?? self.universe
        let target = try self.impersonationTarget(universe: universe)
        var delegates: [String] = []
        for delegate in self.members["delegates"]?.array ?? [] {
            guard let name = delegate.string.map(IAMCredentialsClient.accountName), IAMCredentialsClient.isAccount(name)
            else { throw self.invalid("list a delegate that is not a service account") }
            delegates.append(name)
        }
        return GoogleCredential(
            kind: .impersonatedServiceAccount,
            source: ImpersonatedSource(
                source: source, account: target.account, delegates: delegates, lifetime: .seconds(3600),
                universe: universe, host: target.host, context: self.context),
            context: self.context, quotaProject: quotaProject, universe: universe, account: target.account)
    }

    private func externalAuthorizedUser(_ quotaProject: String?) throws(CredentialError) -> GoogleCredential {
        let source = ExternalAuthorizedUserSource(
            tokenURL: try self.tokenURL(),
            client: ClientAuthentication(id: try self.text("client_id"), secret: try self.text("client_secret")),
            refreshToken: try self.text("refresh_token"), context: self.context)
        return GoogleCredential(
            kind: .externalAccountAuthorizedUser, source: source, context: self.context, quotaProject: quotaProject,
            universe: self.universe)
    }
}

// MARK: - Fields

extension CredentialFile {
    static let impersonationURL = "service_account_impersonation_url"

    var universe: String { self.optionalText("universe_domain") ?? OAuth.defaultUniverse }

    func text(_ field: String) throws(CredentialError) -> String {
        guard let text = self.optionalText(field) else { throw self.invalid("have no \"\(field)\"") }
        return text
    }

    func optionalText(_ field: String) -> String? {
        self.members[field]?.string.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The security token service, which only Google's own hosts may be (AIP-4117).
    func tokenURL() throws(CredentialError) -> String {
        let url = try self.text("token_url")
        guard HostRules.isGoogle(url, service: "sts", universe: self.universe) else {
            throw self.untrusted("token_url")
        }
        return url
    }

    /// The account in an impersonation URL, and the host to ask, which only Google's own may be (AIP-4117).
    func impersonationTarget(universe: String) throws(CredentialError) -> (account: String, host: String) {
        let field = Self.impersonationURL
        let url = try self.text(field)
        guard HostRules.isGoogle(url, service: "iamcredentials", universe: universe), let host = HostRules.host(of: url)
        else { throw self.untrusted(field) }
        guard url.hasSuffix(":generateAccessToken"), let slash = url.lastIndex(of: "/") else {
            throw self.invalid("have an \"\(field)\" that does not end in /ACCOUNT:generateAccessToken")
        }
        let account = String(url[url.index(after: slash)...].dropLast(":generateAccessToken".count))
        guard IAMCredentialsClient.isAccount(account) else {
            throw self.invalid("have an \"\(field)\" without a service account")
        }
        return (account, host)
    }

    func invalid(_ problem: String) -> CredentialError {
        CredentialError(code: .invalidConfiguration, message: "The credentials in \(self.origin) \(problem).")
    }

    func untrusted(_ field: String) -> CredentialError {
        CredentialError(
            code: .untrustedHost,
            message: "The \"\(field)\" of the credentials in \(self.origin) is not an endpoint that may be sent a"
                + " credential; check where the file came from."
        )
    }
}

extension JSONObject {
    /// The members that hold something, at every depth; some tools write `null` for those that they leave out.
    fileprivate var withoutNulls: JSONObject {
        var members = JSONObject()
        for (key, value) in self where value != .null {
            members[key] = value.object.map { JSONValue.object($0.withoutNulls) } ?? value
        }
        return members
    }
}
