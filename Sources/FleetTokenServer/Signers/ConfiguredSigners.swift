// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetSigning
public import FleetTokens
public import Foundation
public import GoogleCredentials

/// The signers of the roles that do not simply sign with the key folder's keys: each a ladder for one account.
///
/// Nothing is asked of Google before a token is. Tokens for everything of a kind are signed once for all who ask.
public final class ConfiguredSigners: Sendable {
    private struct Plan: Sendable {
        let settings: SignerSettings
        /// The account, where it is known without asking.
        let account: String?
        let local: (any LocalKeySigner)?
    }

    private struct Ladder: Sendable {
        let ladder: SignerLadder
        let signers: RoleSigners
    }

    private let plans: [Role: Plan]
    private let google: GoogleSigners
    private let revocations: RevocationList?
    private let ladders = Locked<[Role: Ladder]>([:])
    private let now: @Sendable () -> Date
    private let clock: any Clock<Duration>
    private let keyFiles: [KeyFileSigner]

    /// Makes the signers and reads the key files.
    ///
    /// - Parameters:
    ///   - settings: How each role's tokens are signed.
    ///   - keys: The key folder, where there is one.
    ///   - google: The identity that asks IAM.
    ///   - revocations: The keys that are withdrawn, whose tokens do not go out; `nil` where none can be.
    ///   - clock: Measures how long a way is passed over, and how long shared tokens last.
    ///   - now: The date, which tokens carry.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    public init(
        _ settings: [SignerSettings], keys: SigningKeys?, google: GoogleSigners,
        revocations: RevocationList? = nil, clock: some Clock<Duration> = ContinuousClock(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws(TokenServerError) {
        var plans: [Role: Plan] = [:]
        var keyFiles: [KeyFileSigner] = []
        for settings in settings {
            var local: (any LocalKeySigner)?
            if settings.ways.contains(.key) {
                if let file = settings.keyFile {
                    let signer = try KeyFileSigner(file: file, role: settings.role)
                    keyFiles.append(signer)
                    local = signer
                } else {
                    local = try Self.folderSigner(settings.role, keys: keys, now: now)
                }
            }
            let account: String?
            switch settings.account {
            case .own: account = local?.account
            case .email(let email): account = email
            }
            if let local, let account, local.account != account {
                throw Self.invalid(
                    "The key of the role \(settings.role) belongs to \(local.account), and signers.\(settings.role).account "
                        + "is \(account); a role's tokens name one account, so take a key of that one.")
            }
            plans[settings.role] = Plan(settings: settings, account: account, local: local)
        }
        self.plans = plans
        self.google = google
        self.revocations = revocations
        self.now = now
        self.clock = clock
        self.keyFiles = keyFiles
    }

    /// The public keys of the key files that the settings name, those before them of which tokens may be alive, and the
    /// key of the process's own credentials once it has signed.
    ///
    /// - Parameter time: The time.
    /// - Returns: The keys that verifiers are to trust.
    public func publishedKeys(at time: Date) -> [RSAPublicKey] {
        let ownKey = self.signsAsItself ? self.google.ownKey : nil
        return self.keyFiles.flatMap { $0.published(at: time) } + (ownKey.map { [$0] } ?? [])
    }

    /// What each key of the key files is good for at a time, those of which tokens may be alive included.
    func statuses(at time: Date) -> [KeyStatus] { self.keyFiles.flatMap { $0.statuses(at: time) } }

    /// Whether a role's tokens are those of the account that the process runs as.
    private var signsAsItself: Bool {
        self.plans.values.contains { plan in
            guard case .own = plan.settings.account else { return false }
            return plan.settings.ways.contains { $0 != .key }
        }
    }

    /// Reads again which of the key files changed; a key in force stays where its file cannot be used.
    ///
    /// - Parameter now: The time.
    /// - Returns: How many other keys are in force, and what is wrong with files, told once until it passes or is another.
    public func refreshKeyFiles(at now: Date) -> (changes: Int, problems: [TokenServerError]) {
        var changes = 0
        var problems: [TokenServerError] = []
        for signer in self.keyFiles {
            do throws(TokenServerError) {
                if try signer.refresh(at: now) { changes += 1 }
            } catch {
                problems.append(error)
            }
        }
        return (changes, problems)
    }

    /// Whether a key is in force whose file has changed since and cannot be used.
    var hasStaleKeys: Bool { self.keyFiles.contains(where: \.isStale) }

    /// The roles that have a signer here.
    public var roles: Set<Role> { Set(self.plans.keys) }

    /// Whether any role's tokens may need IAM.
    public var needsGoogle: Bool { self.plans.values.contains { $0.settings.ways.contains { $0 != .key } } }

    /// Whether few signing calls of this minute are left.
    public var isBudgetLow: Bool { self.google.budget.isLow }

    /// The identity that asks IAM.
    var identity: GoogleSigners { self.google }

    /// How the rungs of each role have fared, each with its way's word; roles that never signed are left out.
    var statistics: [Role: [(way: String, rung: SignerLadder.RungStatistics)]] {
        self.ladders.withLock { $0 }.reduce(into: [:]) { result, entry in
            let ways = self.plans[entry.key]?.settings.ways.map(\.word) ?? []
            result[entry.key] = Array(zip(ways, entry.value.ladder.statistics)).map { (way: $0, rung: $1) }
        }
    }

    /// How often the shared tokens of each role were at hand, and were signed; roles that never signed are left out.
    var sharedTokens: [Role: CacheStatistics] { self.ladders.withLock { $0 }.mapValues { $0.signers.statistics } }

    /// Mints a token, or gives the shared one where it is for everything of a kind.
    ///
    /// A shared token goes with its key: when that is withdrawn, or is one here that is retired or whose file is replaced,
    /// another is signed.
    ///
    /// - Parameters:
    ///   - claims: What the token reaches.
    ///   - role: The role.
    ///   - time: The time that a token of one's own is issued at; `nil` for now.
    ///   - isShared: Whether a token that others have too will do.
    /// - Returns: The token; `nil` where the role has no signer here.
    /// - Throws: `SigningError`; `CredentialError`; `CancellationError`.
    public func mint(
        _ claims: AuthorizationClaims?, as role: Role, at time: Date? = nil, isShared: Bool = true
    ) async throws -> MintedToken? {
        guard let plan = self.plans[role] else { return nil }
        let signers = try await self.signers(of: role, plan)
        if isShared {
            let minted = try await signers.mint(claims, as: role)
            guard self.isSpent(minted, of: plan) else { return minted }
            // What was signed a moment ago stays for that moment, and what is being signed comes yet; neither goes out.
            signers.discard(minted.token, of: claims, as: role)
            let next = try await signers.mint(claims, as: role)
            guard self.isSpent(next, of: plan) else { return next }
        }
        return try await signers.minter(for: role).mint(claims, at: time ?? self.now())
    }

    /// Whether the key that signed a token is withdrawn, or was exchanged for another.
    private func isSpent(_ minted: MintedToken, of plan: Plan) -> Bool {
        guard let keyID = minted.keyID else { return false }
        return plan.local?.hasGivenUp(keyID) == true || self.revocations?.holds(keyID: keyID) == true
    }

    /// Mints a token in one way, whatever the others would do.
    ///
    /// - Parameters:
    ///   - claims: What the token reaches.
    ///   - role: The role.
    ///   - way: One of the role's ways to sign.
    /// - Returns: The token; `nil` where the role does not sign so here.
    /// - Throws: `SigningError`; `CredentialError`; `CancellationError`.
    package func mint(
        _ claims: AuthorizationClaims?, as role: Role, by way: SignerSettings.Way
    ) async throws -> MintedToken? {
        guard let plan = self.plans[role], plan.settings.ways.contains(way) else { return nil }
        var settings = plan.settings
        settings.ways = [way]
        let account = try await self.account(of: plan)
        let alone = try self.ladder(
            of: role, Plan(settings: settings, account: account, local: plan.local), account: account, clock: self.clock
        )
        return try await alone.signers.minter(for: role).mint(claims, at: self.now())
    }

    private func account(of plan: Plan) async throws -> String {
        if let known = plan.account { return known }
        return try await self.google.ownSigner().account
    }

    private func signers(of role: Role, _ plan: Plan) async throws -> RoleSigners {
        if let known = self.ladders.withLock({ $0[role] }) { return known.signers }
        let account = try await self.account(of: plan)
        let made = try self.ladder(of: role, plan, account: account, clock: self.clock)
        // Whoever was first counts: breakers and shared tokens are worth nothing in two copies.
        return self.ladders.withLock { ladders in
            let kept = ladders[role] ?? made
            ladders[role] = kept
            return kept.signers
        }
    }

    private func ladder(
        of role: Role, _ plan: Plan, account: String, clock: some Clock<Duration>
    ) throws(SigningError) -> Ladder {
        let ladder = try SignerLadder(
            plan.settings.ways.compactMap { self.signer($0, plan, account: account) }, revocations: self.revocations,
            clock: clock)
        return Ladder(ladder: ladder, signers: RoleSigners([role: ladder], clock: clock, now: self.now))
    }

    private func signer(_ way: SignerSettings.Way, _ plan: Plan, account: String) -> (any PayloadSigner)? {
        switch (way, plan.settings.account) {
        case (.key, _): plan.local
        case (.iam(let method), .own): self.google.ownSigner(expecting: account, method: method)
        case (.iam(let method), .email):
            self.google.signer(impersonating: account, delegates: plan.settings.delegates, method: method)
        }
    }

    private static func folderSigner(
        _ role: Role, keys: SigningKeys?, now: @escaping @Sendable () -> Date
    ) throws(TokenServerError) -> KeyFolderSigner {
        guard let keys, let account = keys.signer(for: role, at: now())?.account else {
            throw self.invalid(
                "signers.\(role).ways has key, and there is no key of the role; set signers.\(role).key to its key file, "
                    + "or put \(role).json into the folder of the setting keys.")
        }
        return KeyFolderSigner(account: account, role: role, keys: keys, now: now)
    }

    private static func invalid(_ message: String) -> TokenServerError {
        TokenServerError(code: .invalidConfiguration, message: message)
    }
}
