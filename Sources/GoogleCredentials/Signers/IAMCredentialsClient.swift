// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation

/// Calls of the IAM credentials service in the name of one identity.
struct IAMCredentialsClient: Sendable {
    private static let service = "The IAM credentials service"

    let credential: GoogleCredential
    let universe: String
    let context: CredentialContext
    /// The service's host, where a credential file names another than the universe's usual one.
    var host: String?
    var retries: RetryPolicy?
    var budget: SigningBudget?
    var hedged: HedgedCalls?

    /// Where the service is; an override of the usual host goes before the credential file's.
    private var origin: String {
        let usual = "iamcredentials.\(self.universe)"
        let named = self.context.hostOverrides[usual] == nil ? self.host : nil
        return "https://\(named ?? usual)"
    }

    /// How a slow call is sent a second time, which the budget has to afford.
    private var hedging: Hedging? {
        guard let hedged else { return nil }
        return Hedging(calls: hedged) { [budget] in
            guard let budget else { return true }
            return !budget.isLow && (try? budget.spend()) != nil
        }
    }

    /// The client for one of several calls that share the limit: it has what is left of it.
    ///
    /// - Parameter start: When the first of them began, as the context's uptime.
    /// - Returns: The client.
    func sharingLimit(since start: Duration) -> Self {
        var retries = self.retries ?? self.context.retries
        retries.spent = self.context.time.uptime - start
        var client = self
        client.retries = retries
        return client
    }

    /// The name that the service gives an account: the e-mail, without a resource name's prefix.
    static func accountName(_ text: String) -> String {
        let prefix = "projects/-/serviceAccounts/"
        return text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text
    }

    /// Whether a text can be the e-mail or the number of a service account, and nothing that changes a URL's meaning.
    static func isAccount(_ text: String) -> Bool {
        (1...320).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "@"),
                    UInt8(ascii: "."):
                    true
                default: false
                }
            } && text.contains { $0 != "." }
    }

    func generateAccessToken(
        for account: String, delegates: [String], scopes: [String], lifetime: Duration
    ) async throws -> FetchedToken {
        let body: JSONObject = [
            "scope": .array(scopes.map { .string($0) }), "lifetime": .string("\(lifetime.components.seconds)s"),
        ]
        return try await self.call("generateAccessToken", account, delegates, body) { response in
            let members = try FetchedToken.object(response, from: Self.service)
            guard let expiry = members["expireTime"]?.string.flatMap({ RFC3339.date($0, isStrict: true) }) else {
                throw CredentialError(code: .invalidAnswer, message: "\(Self.service) did not say when the token ends.")
            }
            // Where this machine's clock is slow, the token does not last longer than was asked for.
            let life = Int64(expiry.timeIntervalSince(self.context.time.date).rounded(.down))
            return try FetchedToken(
                members["accessToken"]?.string, life: min(.seconds(life), lifetime), from: Self.service)
        }
    }

    /// Signs a JSON payload; the service chooses key and header.
    func signJwt(
        _ payload: [UInt8], as account: String, delegates: [String]
    ) async throws -> (token: String, keyID: String?) {
        let body: JSONObject = ["payload": .string(String(decoding: payload, as: UTF8.self))]
        return try await self.call("signJwt", account, delegates, body) { response in
            let members = try FetchedToken.object(response, from: Self.service)
            guard let token = members["signedJwt"]?.string, !token.isEmpty else {
                throw CredentialError(code: .invalidAnswer, message: "\(Self.service) sent no signed token.")
            }
            return (token, members["keyId"]?.string)
        }
    }

    /// Signs bytes; the service chooses the key.
    func signBlob(
        _ message: [UInt8], as account: String, delegates: [String]
    ) async throws -> (signature: [UInt8], keyID: String?) {
        let body: JSONObject = ["payload": .string(Data(message).base64EncodedString())]
        return try await self.call("signBlob", account, delegates, body) { response in
            let members = try FetchedToken.object(response, from: Self.service)
            guard let text = members["signedBlob"]?.string, let signature = Data(base64Encoded: text),
                !signature.isEmpty
            else { throw CredentialError(code: .invalidAnswer, message: "\(Self.service) sent no signature.") }
            return (Array(signature), members["keyId"]?.string)
        }
    }

    private func call<Answer: Sendable>(
        _ method: String, _ account: String, _ delegates: [String], _ body: JSONObject,
        read: @escaping @Sendable (UpstreamResponse) throws -> Answer
    ) async throws -> Answer {
        guard Self.isAccount(account) else {
            throw CredentialError(
                code: .invalidConfiguration, message: "\"\(account.prefix(64))\" is not a service account's e-mail.")
        }
        var body = body
        body["delegates"] = .array(delegates.map { .string("projects/-/serviceAccounts/\($0)") })
        let bytes = JSONValue.object(body).serialized
        let url = "\(self.origin)/v1/projects/-/serviceAccounts/\(account):\(method)"
        let used = Locked<AccessToken?>(nil)
        let ingredient = Ingredient(name: "The identity's access token", program: self.credential.source.program)
        do {
            return try await self.context.exchange(
                with: Self.service, using: ingredient, policy: self.retries, hedging: self.hedging
            ) {
                used.withLock { $0 }.map { self.credential.discard($0, scopes: self.credential.iamScopes) } ?? false
            } _: {
                used.withLock { $0 = nil }
                let token = try await self.credential.accessToken(scopes: self.credential.iamScopes)
                used.withLock { $0 = token }
                try self.budget?.spend()
                return UpstreamRequest(
                    method: "POST", url: url,
                    headers: self.credential.headers(with: token) + [("content-type", "application/json")], body: bytes)
            } read: {
                try read($0)
            }
        } catch let error as CredentialError where error.code == .refused {
            // Without a token, it was whoever gives it that refused.
            guard used.withLock({ $0 }) != nil else { throw error }
            var refusal = error
            refusal.nextStep = await self.advice(for: error, account, delegates)
            throw refusal
        }
    }

    /// What to do about a refusal of this service, where its words tell.
    private func advice(for error: CredentialError, _ account: String, _ delegates: [String]) async -> String? {
        switch (error.status, error.reason) {
        case (403, "SERVICE_DISABLED"):
            return "Enable the IAM Service Account Credentials API (iamcredentials.googleapis.com) in the project."
        case (403, "ACCESS_TOKEN_SCOPE_INSUFFICIENT"):
            return "Give the machine the scope https://www.googleapis.com/auth/cloud-platform, as by gcloud compute "
                + "instances set-service-account --scopes=cloud-platform while it is stopped."
        case (403, "USER_PROJECT_DENIED"):
            return "Grant the role roles/serviceusage.serviceUsageConsumer on the quota project, or name another one."
        case (403, "IAM_PERMISSION_DENIED"), (403, "PERMISSION_DENIED"), (403, nil):
            let identity = (try? await self.credential.account()) ?? "the identity of these credentials"
            let chain = delegates + [account]
            let grants = zip([identity] + chain, chain).map { "to \($0) on \($1)" }
            return "Grant the role roles/iam.serviceAccountTokenCreator \(grants.joined(separator: ", and "))."
        case (404, _): return "There is no account \(account), or it is disabled; check its e-mail."
        case (401, _): return "The credentials were not accepted; log in anew, or check the key and the clock."
        default: return nil
        }
    }
}
