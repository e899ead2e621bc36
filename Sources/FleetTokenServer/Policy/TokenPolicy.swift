// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
public import Foundation

/// Decides which tokens a known caller may have; nothing is minted without its word.
///
/// A policy knows what the server does not: which vehicle a driver is assigned to now, whose trip it is.
public protocol TokenPolicy: Sendable {
    /// Whether a caller may have a token.
    ///
    /// - Parameters:
    ///   - type: The token with the id it is for.
    ///   - caller: Who asks.
    ///   - time: When the token is asked for.
    /// - Returns: The decision with the rule that made it; a refusal is answered with 403.
    /// - Throws: An error when it cannot be decided now, which is answered with 503.
    func decide(_ type: TokenType, for caller: Caller, at time: Date) async throws -> PolicyDecision
}

/// What a policy decided, and by which rule.
public enum PolicyDecision: Hashable, Sendable {
    /// The token may be issued.
    case granted(rule: String)
    /// The token may not be issued: the rule that refused it, if one did, and why in words for the operator.
    case refused(rule: String?, reason: String)

    /// Whether the token may be issued.
    public var isGranted: Bool {
        if case .granted = self { true } else { false }
    }
}

/// Lets a caller have every token of its own roles, whatever the id.
///
/// It is right for a backend that asks on behalf of its users, and for a developer's own machine; apps in the hands of
/// users need a policy that knows whose vehicle or trip it is.
public struct RolePolicy: TokenPolicy {
    /// Makes a policy.
    public init() {}

    /// Grants the token when its role is one of the caller's.
    public func decide(_ type: TokenType, for caller: Caller, at time: Date) async throws -> PolicyDecision {
        guard caller.roles.contains(type.role) else {
            return .refused(rule: nil, reason: "The caller does not have the role \(type.role).")
        }
        return .granted(rule: "role \(type.role)")
    }
}
