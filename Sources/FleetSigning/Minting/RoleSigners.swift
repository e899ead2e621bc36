// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
public import Foundation

/// One signer for each role, as a backend is set up with service accounts of narrow roles.
///
/// Tokens that reach one resource are signed at each call. Tokens for everything of a kind, and the canaries, are the
/// same for all who ask: they are signed once and renewed before they end, each by its role and its exact claims. Roles
/// and claims do not wait for one another.
///
/// ```swift
/// let signers = RoleSigners([.driver: driverSigner, .server: serverSigner])
/// let problems = await signers.check().filter { $0.value != nil }
/// let token = try await signers.mint(.driver(VehicleID(checking: "veh-3")))
/// ```
public struct RoleSigners: Sendable {
    private struct Key: Hashable, Sendable {
        let role: Role
        let claims: AuthorizationClaims?
    }

    private let minters: [Role: TokenMinter]
    private let time: TimeSource
    private let shared: RefreshingCache<Key, MintedToken>
    /// How long a token lasts from when it is signed.
    private let life: TimeInterval

    /// How often the tokens for everything of a kind, and the canaries, were at hand, and were signed.
    public var statistics: CacheStatistics { self.shared.statistics }

    /// Makes a map of signers.
    ///
    /// - Parameters:
    ///   - signers: The signer of each role.
    ///   - window: The times of each token.
    ///   - clock: Measures how long shared tokens last.
    ///   - now: The date, which tokens carry.
    public init(
        _ signers: [Role: any PayloadSigner], window: MintingWindow = .standard,
        clock: some Clock<Duration> = ContinuousClock(), now: @escaping @Sendable () -> Date = { .now }
    ) {
        let minters = signers.mapValues { TokenMinter(signer: $0, window: window) }
        let time = TimeSource(clock: clock, now: now)
        self.minters = minters
        self.time = time
        self.life = (window.lifetime - window.backdating) / .seconds(1)
        self.shared = RefreshingCache(windows: .fleetToken, time: time) { key in
            let minted = try await Self.minter(for: key.role, in: minters).mint(key.claims, at: time.date)
            return (minted, window.lifetime - window.backdating)
        }
    }

    /// The minter of a role.
    ///
    /// - Parameter role: A role that has a signer.
    /// - Returns: Mints that role's tokens, each with its own signature.
    /// - Throws: ``SigningError`` with ``SigningError/Code/invalidKey`` for a role without a signer.
    public func minter(for role: Role) throws(SigningError) -> TokenMinter {
        try Self.minter(for: role, in: self.minters)
    }

    private static func minter(for role: Role, in minters: [Role: TokenMinter]) throws(SigningError) -> TokenMinter {
        guard let minter = minters[role] else {
            throw SigningError(
                code: .invalidKey,
                message: "There is no signer for the role \(role.rawValue.prefix(64)); configure a service account."
            )
        }
        return minter
    }

    /// Mints a token, or gives the shared one.
    ///
    /// - Parameter type: What the token is for.
    /// - Returns: The token and what it says.
    /// - Throws: ``SigningError``; `TokenError` for an empty batch; `CancellationError`.
    public func mint(_ type: TokenType) async throws -> MintedToken {
        try await self.mint(type.claims, as: type.role)
    }

    /// Mints a token with any claims, or gives the shared one.
    ///
    /// - Parameters:
    ///   - claims: What the token reaches; `nil` for the plain token of an admin account.
    ///   - role: Whose signer signs.
    /// - Returns: The token and what it says.
    /// - Throws: ``SigningError``; `CancellationError`.
    public func mint(_ claims: AuthorizationClaims?, as role: Role) async throws -> MintedToken {
        guard claims.map(\.namesNoResource) ?? true else {
            return try await self.minter(for: role).mint(claims, at: self.time.date)
        }
        return try await self.sharedToken(Key(role: role, claims: claims))
    }

    /// The token of a key, which lasts by the date as well.
    ///
    /// How long it is kept is measured by a clock that nobody sets. The date that its times are of may be set meanwhile, as
    /// where a machine goes on after a pause: then the token has ended, or ends too late to be taken.
    private func sharedToken(_ key: Key) async throws -> MintedToken {
        let kept = try await self.shared.value(for: key)
        let left = TimeInterval(kept.claims.expiresAt) - self.time.date.timeIntervalSince1970
        let (least, most) = (min(300, self.life / 4), self.life + 60)
        guard left < least || left > most else { return kept }
        self.shared.renew(key, isUseless: left <= 0 || left > most) { $0.token == kept.token }
        return try await self.shared.value(for: key)
    }

    /// Forgets a shared token that an engine refused, so that the next caller gets another.
    ///
    /// One that was signed a moment ago stays: an engine that refuses every token must not keep the signer busy. Tokens
    /// for one resource are not kept, so there is nothing to forget of them.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - type: What it was minted for.
    public func discard(_ token: FleetToken, of type: TokenType) {
        guard let claims = try? type.claims else { return }
        self.discard(token, of: claims, as: type.role)
    }

    /// Forgets a shared token with any claims, as ``discard(_:of:)`` does.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - claims: What it reaches; `nil` for the plain token of an admin account.
    ///   - role: Whose signer signed it.
    package func discard(_ token: FleetToken, of claims: AuthorizationClaims?, as role: Role) {
        _ = self.shared.discard(Key(role: role, claims: claims)) { $0.token == token }
    }

    /// A token that shows that a role's signer works; it reaches one resource that does not exist.
    ///
    /// - Parameter role: A role that has a signer.
    /// - Returns: The role's canary, the same for all who ask until it is renewed.
    /// - Throws: ``SigningError``; `CancellationError`.
    public func canary(for role: Role) async throws -> MintedToken {
        try await self.sharedToken(Key(role: role, claims: Self.canaryClaims(of: role)))
    }

    /// Mints the canary of every role at once.
    ///
    /// - Returns: What went wrong for each role, `nil` where nothing did.
    public func check() async -> [Role: (any Error)?] {
        await withTaskGroup(of: (Role, (any Error)?).self) { group in
            for role in self.minters.keys {
                group.addTask {
                    do {
                        _ = try await self.canary(for: role)
                        return (role, nil)
                    } catch {
                        return (role, error)
                    }
                }
            }
            var results: [Role: (any Error)?] = [:]
            for await (role, error) in group { results.updateValue(error, forKey: role) }
            return results
        }
    }

    private static func canaryClaims(of role: Role) throws(TokenError) -> AuthorizationClaims? {
        let id = "fleetpass-canary"
        switch role {
        case .onDemandAdmin, .deliveryAdmin: return nil
        case .consumer: return try TokenType.consumer(TripID(checking: id)).claims
        case .deliveryConsumer: return try TokenType.deliveryConsumer(TrackingID(checking: id)).claims
        case .deliveryUntrustedDriver, .deliveryTrustedDriver, .deliveryFleetReader, .deliveryServer:
            return try TokenType.deliveryUntrustedDriver(DeliveryVehicleID(checking: id)).claims
        default: return try TokenType.driver(VehicleID(checking: id)).claims
        }
    }
}

extension AuthorizationClaims {
    /// Whether every claim is a wildcard, so that the token is the same for all who may have it.
    package var namesNoResource: Bool {
        func isWide<ID>(_ scope: Scope<ID>?) -> Bool {
            switch scope {
            case nil, .any: true
            case .some: false
            }
        }
        return isWide(self.vehicle) && isWide(self.trip) && isWide(self.deliveryVehicle) && isWide(self.task)
            && isWide(self.tracking) && (self.taskList == nil || self.taskList == .any) && self.additional.isEmpty
    }
}
