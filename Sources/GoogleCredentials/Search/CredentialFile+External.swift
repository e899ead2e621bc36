// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

// External accounts, AIP-4117.
extension CredentialFile {
    func externalAccount(_ quotaProject: String?) throws(CredentialError) -> GoogleCredential {
        let audience = try self.text("audience")
        let subjectTokenType = try self.text("subject_token_type")
        let impersonates = self.members[Self.impersonationURL] != nil
        let target = try impersonates ? self.impersonationTarget(universe: self.universe) : nil
        let client = self.optionalText("client_id").map {
            ClientAuthentication(id: $0, secret: self.optionalText("client_secret") ?? "")
        }
        let workforceProject = self.optionalText("workforce_pool_user_project")
        guard workforceProject == nil || Self.isWorkforcePool(audience) else {
            throw self.invalid("name a workforce_pool_user_project, and the audience is not a workforce pool")
        }
        let direct = ExternalAccountSource(
            audience: audience, subjectTokenType: subjectTokenType, tokenURL: try self.tokenURL(),
            subject: try self.subject(audience: audience, type: subjectTokenType, account: target?.account),
            client: client, workforceProject: workforceProject, context: self.context)
        guard let target else {
            return GoogleCredential(
                kind: .externalAccount, source: direct, context: self.context, quotaProject: quotaProject,
                universe: self.universe)
        }
        let source = GoogleCredential(
            kind: .externalAccount, source: direct, context: self.context, quotaProject: quotaProject,
            universe: self.universe)
        return GoogleCredential(
            kind: .externalAccount,
            source: ImpersonatedSource(
                source: source, account: target.account, delegates: [], lifetime: try self.impersonationLifetime(),
                universe: self.universe, host: target.host, context: self.context),
            context: self.context, quotaProject: quotaProject, universe: self.universe, account: target.account)
    }

    private static func isWorkforcePool(_ audience: String) -> Bool {
        let parts = audience.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count > 6 && parts[2] == "iam.googleapis.com" && parts[3] == "locations"
            && parts[5] == "workforcePools"
    }

    private func impersonationLifetime() throws(CredentialError) -> Duration {
        let options = self.members["service_account_impersonation"]?.object
        guard let seconds = options?["token_lifetime_seconds"] else { return .seconds(3600) }
        guard let seconds = seconds.integer, (600...43_200).contains(seconds) else {
            throw self.invalid("have a token_lifetime_seconds that is not between 600 and 43200")
        }
        return .seconds(seconds)
    }

    private func subject(
        audience: String, type: String, account: String?
    ) throws(CredentialError) -> any SubjectTokenSource {
        guard let source = self.members["credential_source"]?.object else {
            throw self.invalid("have no \"credential_source\"")
        }
        let kinds = ["file", "url", "executable", "environment_id"].filter { source[$0] != nil }
        if source["environment_id"] != nil { return try self.aws(source, audience: audience) }
        guard kinds.count == 1 else {
            throw self.invalid("have a credential_source that is not exactly one of file, url, executable and AWS")
        }
        if let path = source["file"]?.string {
            return FileSubject(path: path, format: try self.format(source), context: self.context)
        }
        if let url = source["url"]?.string {
            guard url.hasPrefix("http://") || url.hasPrefix("https://"), HostRules.host(of: url) != nil else {
                throw self.invalid("have a credential_source with a url that is not absolute")
            }
            let headers = source["headers"]?.object ?? [:]
            return URLSubject(
                url: url, headers: headers.compactMap { header in header.value.string.map { (header.key, $0) } },
                format: try self.format(source), context: self.context)
        }
        guard let executable = source["executable"]?.object else {
            throw self.invalid("have a credential_source of the wrong form")
        }
        return try self.executable(executable, audience: audience, type: type, account: account)
    }

    private func format(_ source: JSONObject) throws(CredentialError) -> SubjectTokenFormat {
        guard let format = source["format"]?.object else { return .text }
        switch format["type"]?.string {
        case "text", nil: return .text
        case "json":
            guard let field = format["subject_token_field_name"]?.string, !field.isEmpty else {
                throw self.invalid("have a credential_source of JSON format without subject_token_field_name")
            }
            return .json(field: field)
        default: throw self.invalid("have a credential_source whose format is neither text nor json")
        }
    }

    private func aws(_ source: JSONObject, audience: String) throws(CredentialError) -> any SubjectTokenSource {
        guard source["environment_id"]?.string == "aws1" else {
            throw self.invalid("have a credential_source for an AWS version other than aws1")
        }
        guard let verification = source["regional_cred_verification_url"]?.string else {
            throw self.invalid("have a credential_source without regional_cred_verification_url")
        }
        guard verification.hasPrefix("https://"), let host = HostRules.host(of: verification),
            host.hasSuffix(".amazonaws.com") || host.hasSuffix(".amazonaws.com.cn")
        else { throw self.untrusted("regional_cred_verification_url") }
        for field in ["region_url", "url", "imdsv2_session_token_url"] {
            guard let url = source[field]?.string else { continue }
            guard HostRules.isAWSMetadata(url) else { throw self.untrusted(field) }
        }
        return AWSSubject(
            regionURL: source["region_url"]?.string, credentialsURL: source["url"]?.string,
            verificationURL: verification, sessionTokenURL: source["imdsv2_session_token_url"]?.string,
            audience: audience, context: self.context)
    }

    private func executable(
        _ source: JSONObject, audience: String, type: String, account: String?
    ) throws(CredentialError) -> any SubjectTokenSource {
        guard let command = CommandWords.split(source["command"]?.string ?? "") else {
            throw self.invalid("have an executable whose command has a quote or a backslash without its other half")
        }
        guard let program = command.first, program.hasPrefix("/") else {
            throw self.invalid("have an executable whose command does not begin with an absolute path")
        }
        var limit = ExecutableSubject.defaultLimit
        if let milliseconds = source["timeout_millis"] {
            guard let number = milliseconds.integer, ExecutableSubject.limits.contains(.milliseconds(number)) else {
                throw self.invalid("have an executable whose timeout_millis is not between 5000 and 120000")
            }
            limit = .milliseconds(number)
        }
        return ExecutableSubject(
            command: command, limit: limit, outputFile: source["output_file"]?.string, audience: audience,
            subjectTokenType: type, impersonatedAccount: account, context: self.context)
    }
}
