// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
public import HTTPTypes

/// What a request says of the one who sent it.
public struct CallerRequest: Sendable {
    /// The header fields.
    public var headers: HTTPFields

    /// Describes a request.
    public init(headers: HTTPFields) {
        self.headers = headers
    }

    /// The bearer credential, a secret, or `nil` where there is none.
    public var bearer: String? {
        guard let value = self.headers[.authorization] else { return nil }
        let parts = value.split(separator: " ", omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return String(parts[1])
    }
}

/// Who asks for tokens, and for what kinds.
public struct Caller: Hashable, Sendable {
    /// A name for logs and audit; no secret.
    public var name: String
    /// The roles whose tokens the caller may have.
    public var roles: Set<Role>

    /// Describes a caller.
    public init(name: String, roles: Set<Role>) {
        self.name = name
        self.roles = roles
    }
}

/// Finds out who asks for a token; nothing is minted for a caller that no authenticator knows.
///
/// Several kinds can stand behind it: open access on loopback, static secrets, ID tokens of an identity provider.
public protocol CallerAuthenticator: Sendable {
    /// Identifies the caller, or returns `nil` when the request proves nothing.
    ///
    /// - Parameter request: What the request says.
    /// - Returns: The caller, or `nil`, which is answered with 401.
    /// - Throws: An error when it cannot be found out now, which is answered with 503.
    func caller(of request: CallerRequest) async throws -> Caller?
}

/// Takes everybody for a known caller, as the vendor's sample servers do; for a developer's own machine only.
///
/// Whoever builds a server with it must listen on loopback alone.
public struct OpenAuthenticator: CallerAuthenticator {
    /// Makes an authenticator that asks nothing.
    public init() {}

    /// The same caller for every request.
    public func caller(of request: CallerRequest) async throws -> Caller? {
        Caller(name: "anyone", roles: TokenRoute.roles)
    }
}
