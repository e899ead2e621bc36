// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Asks several authenticators, in order; the first that recognises the credential decides.
///
/// A credential that one recognises and refuses is not shown to the others, but a user's token to those of the same
/// issuer, such as a provider's apps with an audience each; it is refused when none of them takes it. Headers of a
/// ``TrustedProxyAuthenticator`` that come from another address are refused before anybody is asked, whatever else the
/// request carries.
public struct CallerAuthenticators: CallerAuthenticator {
    private let members: [any CallerAuthenticator]
    private let proxies: [TrustedProxyAuthenticator]

    /// Makes a chain.
    ///
    /// - Parameter members: The authenticators, in the order in which they are asked; those of one issuer of users'
    ///   tokens are asked together.
    public init(_ members: [any CallerAuthenticator]) {
        self.members = UserTokenIssuer.joining(members)
        self.proxies = members.compactMap { $0 as? TrustedProxyAuthenticator }
    }

    /// The caller that the first authenticator which recognises the credential finds.
    public func caller(of request: CallerRequest) async throws -> Caller? {
        try TrustedProxyAuthenticator.refuseForgery(request, of: self.proxies)
        for member in self.members {
            let caller: Caller?
            if let proxy = member as? TrustedProxyAuthenticator {
                // What is no forgery may still be another proxy's.
                caller = try proxy.user(of: request)
            } else {
                caller = try await member.caller(of: request)
            }
            if let caller { return caller }
        }
        // Last, as an authenticator of another's making may read longer ones.
        guard request.bearer.map(UserToken.isTooLong) != true else {
            throw CallerRefusal(
                .malformed,
                "The user's token has more than \(UserToken.maximumBytes) bytes, the most that is read of one.")
        }
        return nil
    }
}
