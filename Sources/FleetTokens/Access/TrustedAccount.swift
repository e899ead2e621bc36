// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A service account whose signature is trusted, and what it may sign for.
public struct TrustedAccount: Hashable, Sendable {
    /// The account's e-mail, which its tokens name as `iss` and `sub`.
    public var email: String
    /// The account's role; `nil` where only the signature matters, or where ``granted`` says all.
    public var role: Role?
    /// The provider the account belongs to; `nil` where only the signature matters.
    public var provider: ProviderID?
    /// What the account may do where that is not what ``role`` permits: several roles, or a custom one.
    public var granted: Set<Permission>?
    /// The roles of the service that the account has: ``role`` alone, several, or those that a custom one includes.
    public var roles: Set<Role>

    /// Whether it is known what the account may do.
    var isGranted: Bool { self.role != nil || self.granted != nil }

    /// What the account may do.
    public var permissions: Set<Permission> { self.granted ?? self.role?.permissions ?? [] }

    /// Describes an account; without `roles` it has its role alone.
    public init(
        email: String, role: Role? = nil, provider: ProviderID? = nil, granted: Set<Permission>? = nil,
        roles: Set<Role>? = nil
    ) {
        self.email = email
        self.role = role
        self.provider = provider
        self.granted = granted
        self.roles = roles ?? role.map { [$0] } ?? []
    }
}
