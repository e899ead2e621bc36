// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Finds out who asks for a token; nothing is minted for a caller that no authenticator knows.
///
/// Several kinds can stand behind it: open access on loopback, static secrets, ID tokens of an identity provider.
public protocol CallerAuthenticator: Sendable {
    /// Identifies the caller, or returns `nil` when the request holds no credential of this authenticator's kind.
    ///
    /// A request whose token took long to decide about or to sign is asked about again before the token is handed out: a
    /// credential for one use must serve its own request twice.
    ///
    /// - Parameter request: What the request says.
    /// - Returns: The caller, or `nil`, which is answered with 401 where no other authenticator is asked.
    /// - Throws: ``CallerRefusal`` when it holds one that is not valid, which is answered with 401; any other error when
    ///   it cannot be found out now, which is answered with 503.
    func caller(of request: CallerRequest) async throws -> Caller?
}

/// Takes everybody for a known caller, as the vendor's sample servers do; for a developer's own machine only.
///
/// Whoever builds a server with it must listen on loopback alone.
public struct OpenAuthenticator: CallerAuthenticator {
    /// Makes an authenticator that asks nothing.
    public init() {}

    /// The same caller for every request, with every role that callers can have.
    public func caller(of request: CallerRequest) async throws -> Caller? {
        Caller(name: "anyone", issuer: "open", roles: Set(PolicyTarget.roles))
    }
}
