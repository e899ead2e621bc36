// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Knows users by session tokens that your own backend signs with a shared secret (HS256).
public struct SessionTokenAuthenticator: CallerAuthenticator, UserTokenAuthenticator {
    let rules: UserTokenRules
    private let secrets: [SharedSecret]
    private let now: @Sendable () -> Date

    /// Makes an authenticator.
    ///
    /// - Parameters:
    ///   - label: The backend's name in logs, rules and assignments.
    ///   - issuer: The `iss` of its tokens.
    ///   - audiences: The values of which `aud` must be one.
    ///   - secrets: The secrets that are valid: one, or the old and the new while they are changed.
    ///   - leeway: The clock difference that is forgiven, up to 300 s.
    ///   - nameClaim: The claim that names the user in logs.
    ///   - now: The clock that tokens are judged by.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    public init(
        label: String, issuer: String, audiences: Set<String>, secrets: [SharedSecret], leeway: Duration = .seconds(60),
        nameClaim: String = "sub", now: @escaping @Sendable () -> Date = { Date() }
    ) throws(TokenServerError) {
        guard (1...4).contains(secrets.count) else {
            throw TokenServerError(
                code: .invalidConfiguration, message: "The issuer \"\(label)\" needs one to four session secrets.")
        }
        self.rules = try UserTokenRules(
            label: label, issuer: issuer, audiences: audiences, leeway: leeway, nameClaim: nameClaim,
            algorithms: [.hs256])
        self.secrets = secrets
        self.now = now
    }

    /// The user whose session token the request carries.
    public func caller(of request: CallerRequest) async throws -> Caller? {
        guard let (token, _) = try self.rules.token(of: request) else { return nil }
        let isSigned = self.secrets.contains { $0.isValid(token.signature, for: token.signingInput) }
        guard isSigned else { throw CallerRefusal(.signature, "The signature of the session token does not hold.") }
        return try self.rules.caller(of: token, at: self.now())
    }
}
