// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetSigning
public import FleetTokens
public import Foundation

/// The keys of a folder as they are in force, read again when the folder changes.
public final class SigningKeys: Sendable {
    private struct State {
        var rings: [Role: KeyRing]
        var fingerprint: KeyFolder.Fingerprint
        /// The ids of the keys that were in the folder and are no more.
        var givenUp: Set<String> = []
        /// Those of them in whose places others were put.
        var former = FormerKeys()
        /// Those of the folder's keys that their files' names say to withdraw before their tokens have ended.
        var cutShort = FormerKeys()
        /// How the shared tokens fared of keys that were read before.
        var formerSharedTokens: [Role: CacheStatistics] = [:]

        var sharedTokens: [Role: CacheStatistics] {
            self.rings.reduce(into: self.formerSharedTokens) { counts, ring in
                for entry in ring.value.entries {
                    counts[ring.key] = (counts[ring.key] ?? CacheStatistics()) + entry.shared.statistics
                }
            }
        }

        var keyIDs: Set<String> { Set(self.rings.values.flatMap { $0.entries.map(\.key.keyID) }) }
    }

    private let folder: KeyFolder
    private let provider: ProviderID
    private let revocations: RevocationList?
    private let read: @Sendable (KeyFolder) throws(TokenServerError) -> [Role: KeyRing]
    private let state: Locked<State>

    /// Reads the keys of a folder.
    ///
    /// - Parameters:
    ///   - folder: The folder.
    ///   - provider: The provider that the accounts belong to.
    ///   - revocations: The keys that are withdrawn, which do not sign; `nil` where none can be.
    ///   - clock: Measures how long shared tokens last.
    ///   - now: The date, which shared tokens carry.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    public convenience init(
        folder: KeyFolder, provider: ProviderID, revocations: RevocationList? = nil,
        clock: some Clock<Duration> = ContinuousClock(), now: @escaping @Sendable () -> Date = { Date() }
    ) throws(TokenServerError) {
        try self.init(
            folder: folder, provider: provider, revocations: revocations,
            reading: { (folder) throws(TokenServerError) in try folder.read(clock: clock, now: now) })
    }

    init(
        folder: KeyFolder, provider: ProviderID, revocations: RevocationList? = nil,
        reading read: @escaping @Sendable (KeyFolder) throws(TokenServerError) -> [Role: KeyRing]
    ) throws(TokenServerError) {
        self.folder = folder
        self.provider = provider
        self.revocations = revocations
        self.read = read
        let fingerprint = try folder.fingerprint()
        self.state = Locked(State(rings: try read(folder), fingerprint: fingerprint))
    }

    /// The roles that have a key.
    public var roles: Set<Role> { Set(self.state.withLock { $0.rings.keys }) }

    /// How often the shared tokens of each role were at hand, and were signed.
    var sharedTokens: [Role: CacheStatistics] { self.state.withLock { $0.sharedTokens } }

    /// Makes a role's tokens at a time, each with its own signature; `nil` where the role has no key that may sign.
    public func minter(for role: Role, at time: Date) -> TokenMinter? { self.signing(for: role, at: time)?.minter }

    /// Signs for a role at a time; `nil` where the role has no key that may sign.
    func signer(for role: Role, at time: Date) -> (any PayloadSigner)? { self.signing(for: role, at: time)?.signer }

    /// Mints a token, or gives the shared one where it is for everything of a kind.
    ///
    /// A shared token goes with its key: as soon as another key signs, so does the shared token of that one.
    ///
    /// - Parameters:
    ///   - claims: What the token reaches.
    ///   - role: The role.
    ///   - time: The time.
    ///   - isShared: Whether a token that others have too will do.
    /// - Returns: The token; `nil` where the role has no key.
    /// - Throws: `SigningError`, as where every key of the role is withdrawn; `CancellationError`.
    public func mint(
        _ claims: AuthorizationClaims?, as role: Role, at time: Date, isShared: Bool = true
    ) async throws -> MintedToken? {
        guard let ring = self.state.withLock({ $0.rings[role] }) else { return nil }
        guard let entry = self.signing(of: ring, at: time) else {
            throw SigningError(
                code: .signingFailed,
                message: "Every key of the role \(role) that may sign is withdrawn; rotate the role, and retire them.")
        }
        guard isShared, claims?.namesNoResource ?? true else { return try await entry.minter.mint(claims, at: time) }
        return try await entry.shared.mint(claims, as: role)
    }

    private func signing(for role: Role, at time: Date) -> KeyRing.Entry? {
        self.state.withLock { $0.rings[role] }.flatMap { self.signing(of: $0, at: time) }
    }

    private func signing(of ring: KeyRing, at time: Date) -> KeyRing.Entry? {
        ring.signing(at: time) { self.revocations?.holds(keyID: $0) ?? false }
    }

    /// Whether a key was in the folder and is no more.
    func hasGivenUp(_ keyID: String) -> Bool { self.state.withLock { $0.givenUp.contains(keyID) } }

    /// The keys that verifiers are to trust at a time.
    public func published(at time: Date) -> [RSAPublicKey] {
        let (rings, former) = self.state.withLock { state in
            (state.rings, state.former.published(at: time) + state.cutShort.published(at: time))
        }
        let scheduled = rings.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap { role, ring in
            self.publicKeys(ring.published(at: time), of: role)
        }
        let ids = Set(scheduled.map(\.id))
        return scheduled + former.filter { !ids.contains($0.id) }
    }

    private func publicKeys(_ keys: [ServiceAccountKey], of role: Role) -> [RSAPublicKey] {
        keys.compactMap { try? $0.publicKey(role: role, provider: self.provider) }
    }

    /// What each key is good for at a time, in the order of roles and age.
    func statuses(at time: Date) -> [KeyStatus] {
        let rings = self.state.withLock { $0.rings }
        return rings.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap { $0.value.statuses(of: $0.key, at: time) }
    }

    /// Reads the folder again if it changed; the keys in force stay when it cannot be read, or holds one that was retired.
    ///
    /// A key that was put in another's place signs at once, and the other stays published until no token of it can be
    /// alive, as does one that a new key of an earlier time takes the turn of. One that was removed is published no more.
    ///
    /// - Parameter now: The time.
    /// - Returns: Whether it was read again.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    @discardableResult
    public func refresh(at now: Date = Date()) throws(TokenServerError) -> Bool {
        try self.change(at: now) != nil
    }

    /// What came of reading the folder again.
    struct Change: Sendable {
        /// The ids of the keys that stay published although a new key of an earlier time withdraws them.
        let cutShort: [String]
    }

    /// Reads the folder again if it changed, see ``refresh(at:)``; `nil` where it did not.
    func change(at now: Date) throws(TokenServerError) -> Change? {
        let fingerprint = try self.folder.fingerprint()
        let (before, seen) = self.state.withLock { ($0.rings, $0.fingerprint) }
        guard fingerprint != seen else { return nil }
        let rings = try self.read(self.folder)
        let retired = try self.folder.retired.ids
        let exchanged = before.flatMap { role, ring in
            self.publicKeys(ring.exchanged(in: rings[role], at: now), of: role)
        }
        let cutShort = before.flatMap { role, ring in
            self.publicKeys(ring.cutShort(in: rings[role], at: now), of: role)
        }
        self.state.withLock { state in
            var next = State(rings: rings, fingerprint: fingerprint)
            next.givenUp = state.givenUp.union(state.keyIDs).subtracting(next.keyIDs)
            next.formerSharedTokens = state.sharedTokens
            next.former = state.former
            next.former.add(exchanged, besides: next.keyIDs.union(retired), at: now)
            let left = next.keyIDs.subtracting(retired)
            next.cutShort = state.cutShort
            next.cutShort.add(cutShort, at: now) { left.contains($0) }
            state = next
        }
        return Change(cutShort: cutShort.map(\.id).sorted())
    }
}
