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

        var keyIDs: Set<String> { Set(self.rings.values.flatMap { $0.entries.map(\.key.keyID) }) }
    }

    private let folder: KeyFolder
    private let provider: ProviderID
    private let state: Locked<State>

    /// Reads the keys of a folder.
    ///
    /// - Parameters:
    ///   - folder: The folder.
    ///   - provider: The provider that the accounts belong to.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    public convenience init(folder: KeyFolder, provider: ProviderID) throws(TokenServerError) {
        try self.init(folder: folder, provider: provider) { (folder) throws(TokenServerError) in try folder.read() }
    }

    init(
        folder: KeyFolder, provider: ProviderID,
        reading read: (KeyFolder) throws(TokenServerError) -> [Role: KeyRing]
    ) throws(TokenServerError) {
        self.folder = folder
        self.provider = provider
        let fingerprint = try folder.fingerprint()
        self.state = Locked(State(rings: try read(folder), fingerprint: fingerprint))
    }

    /// The roles that have a key.
    public var roles: Set<Role> { Set(self.state.withLock { $0.rings.keys }) }

    /// Makes a role's tokens at a time; `nil` where the role has no key.
    public func minter(for role: Role, at time: Date) -> TokenMinter? {
        self.state.withLock { $0.rings[role]?.signing(at: time)?.minter }
    }

    /// Signs for a role at a time; `nil` where the role has no key.
    func signer(for role: Role, at time: Date) -> (any PayloadSigner)? {
        self.state.withLock { $0.rings[role]?.signing(at: time)?.signer }
    }

    /// Whether a key was in the folder and is no more.
    func hasGivenUp(_ keyID: String) -> Bool { self.state.withLock { $0.givenUp.contains(keyID) } }

    /// The keys that verifiers are to trust at a time.
    public func published(at time: Date) -> [RSAPublicKey] {
        let (rings, former) = self.state.withLock { ($0.rings, $0.former) }
        return rings.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap { role, ring in
            self.publicKeys(ring.published(at: time), of: role)
        } + former.published(at: time)
    }

    private func publicKeys(_ keys: [ServiceAccountKey], of role: Role) -> [RSAPublicKey] {
        keys.compactMap { try? $0.publicKey(role: role, provider: self.provider) }
    }

    /// What each key is good for at a time, in the order of roles and age.
    func statuses(at time: Date) -> [KeyStatus] {
        let rings = self.state.withLock { $0.rings }
        return rings.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap { $0.value.statuses(of: $0.key, at: time) }
    }

    /// Reads the folder again if it changed; the keys in force stay when it cannot be read.
    ///
    /// A key that was put in another's place signs at once, and the other stays published until no token of it can be
    /// alive. One that was removed is published no more.
    ///
    /// - Parameter now: The time.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    public func refresh(at now: Date = Date()) throws(TokenServerError) {
        let fingerprint = try self.folder.fingerprint()
        let (before, seen) = self.state.withLock { ($0.rings, $0.fingerprint) }
        guard fingerprint != seen else { return }
        let rings = try self.folder.read()
        let exchanged = before.flatMap { role, ring in
            self.publicKeys(ring.exchanged(in: rings[role], at: now), of: role)
        }
        self.state.withLock { state in
            var next = State(rings: rings, fingerprint: fingerprint)
            next.givenUp = state.givenUp.union(state.keyIDs).subtracting(next.keyIDs)
            next.former = state.former
            next.former.add(exchanged, besides: next.keyIDs, at: now)
            state = next
        }
    }
}
