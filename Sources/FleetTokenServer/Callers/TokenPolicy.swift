// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens

/// Decides which tokens a known caller may have; nothing is minted without its word.
///
/// A policy knows what the server does not: which vehicle a driver is assigned to now, whose trip it is.
public protocol TokenPolicy: Sendable {
    /// Whether a caller may have a token.
    ///
    /// - Parameters:
    ///   - type: The token with the id it is for.
    ///   - caller: Who asks.
    /// - Returns: `false` is answered with 403.
    /// - Throws: An error when it cannot be decided now, which is answered with 503.
    func allows(_ type: TokenType, for caller: Caller) async throws -> Bool
}

/// Lets a caller have every token of its own roles, whatever the id.
///
/// It is right for a backend that asks on behalf of its users, and for a developer's own machine; apps in the hands of
/// users need a policy that knows whose vehicle or trip it is.
public struct RolePolicy: TokenPolicy {
    /// Makes a policy.
    public init() {}

    /// Whether the token's role is one of the caller's.
    public func allows(_ type: TokenType, for caller: Caller) async throws -> Bool {
        caller.roles.contains(type.role)
    }
}
