// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTestSupport
import FleetTokens
import Foundation

@testable import GoogleCredentials

/// A context that owns its world: variables, files, network and clock.
struct World {
    let clock = ManualClock()
    let network: StandIn
    var variables: [String: String] = [:]
    var files: [String: [UInt8]] = [:]
    var executables: any ExecutableRunner = NoExecutables()
    var retries = RetryPolicy(attempts: 1)
    var random: @Sendable () -> Double = { 0 }

    init(_ network: StandIn = StandIn()) {
        self.network = network
    }

    var context: CredentialContext {
        let clock = self.clock
        let files = self.files
        return CredentialContext(
            variables: self.variables, transport: self.network, readFile: { files[$0] }, executables: self.executables,
            retries: self.retries, clock: clock, now: { Google.now + clock.elapsed }, random: self.random)
    }

    func load(_ file: JSONObject, quotaProject: String? = nil) async throws -> GoogleCredential {
        try await ApplicationDefaultCredentials(
            context: self.context, explicit: .json(JSONValue.object(file).serialized), quotaProject: quotaProject
        ).load()
    }

    func metadata() async throws -> GoogleCredential {
        try await ApplicationDefaultCredentials(context: self.context).load()
    }
}

struct NoExecutables: ExecutableRunner {
    func run(
        _ command: [String], variables: [String: String], limit: Duration
    ) async throws -> ExecutableResult {
        throw CredentialError(code: .unavailable, message: "No program may run here.")
    }
}

extension ManualClock {
    /// The time since the clock was made, in seconds.
    var elapsed: TimeInterval {
        let parts = self.now.sinceStart.components
        return Double(parts.seconds) + Double(parts.attoseconds) * 1e-18
    }
}

/// Credential files with marked secrets.
enum Files {
    static let scope = "https://www.googleapis.com/auth/cloud-platform"
    static let user: JSONObject = [
        "type": "authorized_user", "client_id": "client", "client_secret": "MARKED-client-secret",
        "refresh_token": "MARKED-refresh", "quota_project_id": "billed",
    ]
    static let impersonationURL =
        "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/\(Google.account):generateAccessToken"
    static let impersonated: JSONObject = [
        "type": "impersonated_service_account", "service_account_impersonation_url": .string(impersonationURL),
        "delegates": .array(["projects/-/serviceAccounts/between@acme-fleet.iam.gserviceaccount.com"]),
        "source_credentials": .object(user),
    ]
    static let externalUser: JSONObject = [
        "type": "external_account_authorized_user", "client_id": "client", "client_secret": "MARKED-client-secret",
        "refresh_token": "MARKED-refresh", "token_url": "https://sts.googleapis.com/v1/oauthtoken",
        "audience": "//iam.googleapis.com/locations/global/workforcePools/pool/providers/p",
    ]
    static let audience = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/p"

    static func external(_ source: JSONObject, _ more: JSONObject = [:]) -> JSONObject {
        var file: JSONObject = [
            "type": "external_account", "audience": .string(audience),
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            "token_url": "https://sts.googleapis.com/v1/token", "credential_source": .object(source),
        ]
        for member in more { file[member.key] = member.value }
        return file
    }

    static let aws = external(
        [
            "environment_id": "aws1",
            "region_url": "http://169.254.169.254/latest/meta-data/placement/availability-zone",
            "url": "http://169.254.169.254/latest/meta-data/iam/security-credentials",
            "imdsv2_session_token_url": "http://169.254.169.254/latest/api/token",
            "regional_cred_verification_url":
                "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
        ], ["subject_token_type": "urn:ietf:params:aws:token-type:aws4_request"])

    /// A service account's key file.
    static func serviceAccount() throws -> JSONObject {
        try JSONValue(parsing: Google.key.get().keyFile).object ?? [:]
    }
}
