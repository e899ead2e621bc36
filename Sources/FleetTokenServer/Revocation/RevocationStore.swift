// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetSigning
public import Foundation

/// Tells which tokens are withdrawn in the token server's store, for verifiers to refuse them.
///
/// ``Administration`` withdraws them. The list is exact, short, and holds nothing for longer than its tokens live.
public struct RevocationStore: Sendable {
    /// How far a verifier's clock may be behind, as keys' schedules assume too.
    private static let clockTolerance: TimeInterval = 300
    /// How long something is kept after its end, in seconds: a clock that is ahead takes away nothing that still counts.
    private static let keeping: TimeInterval = 86_400

    private let store: TokenServerStore

    /// Reads what is withdrawn in a store.
    public init(store: TokenServerStore) {
        self.store = store
    }

    /// What an hour of the audit tells of a target's tokens, up to a place in it.
    struct LivingTokens: Sendable {
        fileprivate let revocations: [Revocation]
        fileprivate let end: AuditHead
    }

    /// Looks for a target's tokens before anything is locked: that takes long where many were made.
    ///
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidTarget``, or an error of the store.
    func livingTokens(of target: RevocationTarget, at now: Date) async throws -> LivingTokens {
        if let fault = target.fault {
            throw TokenServerError(code: .invalidTarget, message: "The \(target.kind) to withdraw by \(fault).")
        }
        return try await self.store.database.read { database in
            LivingTokens(
                revocations: try Self.revocations(of: target, after: nil, at: now, in: database),
                end: try database.keptHead())
        }
    }

    /// Withdraws the tokens that are known, within a transaction that does not have the head of the audit yet.
    static func withdraw(_ known: LivingTokens, at now: Date, in database: any TokenServerTransaction) throws {
        try database.withdraw(known.revocations)
        try database.execute(
            "DELETE FROM revocation WHERE ends_at <= ?", [.integer(self.seconds(now - self.keeping))])
    }

    /// Withdraws those that were made since the known ones were looked for, and says which they are all together.
    static func withdraw(
        _ target: RevocationTarget, knowing known: LivingTokens, at now: Date, in database: any TokenServerTransaction
    ) throws -> [Revocation] {
        let values = Set(known.revocations.map(\.value))
        let later = try self.revocations(of: target, after: known.end, at: now, in: database)
            .filter { !values.contains($0.value) }
        try database.withdraw(later)
        return known.revocations + later
    }

    /// Whether the audit tells of a living token of a target.
    ///
    /// A fingerprint or a key is withdrawn all the same: the token may have been made elsewhere.
    ///
    /// - Parameters:
    ///   - target: Whose.
    ///   - now: The time.
    /// - Returns: Whether there is one.
    /// - Throws: An error of the store.
    public func knows(_ target: RevocationTarget, at now: Date) async throws -> Bool {
        try await self.store.database.read { database in
            try !Self.tokens(of: target, after: nil, at: now, in: database).isEmpty
        }
    }

    /// What is withdrawn at a time.
    ///
    /// - Parameter now: The time.
    /// - Returns: The list, in no order that means anything.
    /// - Throws: An error of the store.
    public func current(at now: Date) async throws -> [Revocation] {
        // Engines elsewhere ask for nothing else of the store, and again and again.
        try await self.store.database.look()
        return try await self.store.database.read { database in
            var current: [Revocation] = []
            try database.rows(
                "SELECT kind, value, ends_at FROM revocation WHERE ends_at > ? ORDER BY kind, value",
                [.integer(Self.seconds(now))]
            ) { row in
                if let kind = Revocation.Kind(rawValue: try row.text(0)) {
                    let end = Date(timeIntervalSince1970: TimeInterval(try row.integer(2)))
                    current.append(Revocation(kind: kind, value: try row.text(1), endsAt: end))
                }
                return true
            }
            return current
        }
    }

    /// How many of the things that are withdrawn the signed list has no room for, so that engines elsewhere do not hear of
    /// them.
    ///
    /// - Parameter now: The time.
    /// - Returns: The number, without the tokens that a withdrawn key withdraws with it.
    /// - Throws: An error of the store.
    public func countLeftOut(at now: Date) async throws -> Int {
        let listed = ListedRevocations(of: self)
        func count() async throws -> Int {
            SignedRevocations(try await listed.current(at: now), at: now).leftOut
        }
        guard try await count() > 0 else { return 0 }
        try await listed.lookUpTokensOfKeys(at: now)
        return try await count()
    }

    /// Looks for the living tokens of a key.
    ///
    /// - Parameters:
    ///   - key: The key's id.
    ///   - head: Only those that were recorded after it.
    ///   - now: The time.
    /// - Returns: Their fingerprints, and up to where the audit was read.
    /// - Throws: An error of the store.
    func tokens(ofKey key: String, after head: AuditHead?, at now: Date) async throws -> (Set<String>, end: AuditHead) {
        try await self.store.database.read { database in
            let tokens = try Self.tokens(of: .key(key), after: head, at: now, in: database)
            return (Set(tokens.map(\.fingerprint)), try database.keptHead())
        }
    }

    private static func revocations(
        of target: RevocationTarget, after head: AuditHead?, at now: Date, in database: any TokenServerTransaction
    ) throws -> [Revocation] {
        let end = now.addingTimeInterval(Revocation.longest)
        switch target {
        case .fingerprint(let value):
            let ends = try self.tokens(of: target, after: head, at: now, in: database).map(self.end)
            return [Revocation(kind: .fingerprint, value: value, endsAt: max(end, ends.max() ?? end))]
        case .key(let id): return [Revocation(kind: .key, value: id, endsAt: end)]
        case .caller, .subject, .resource:
            return try self.tokens(of: target, after: head, at: now, in: database).map { token in
                Revocation(kind: .fingerprint, value: token.fingerprint, endsAt: self.end(of: token))
            }
        }
    }

    /// When a token's withdrawal can be forgotten; far away for one that was made while a clock was ahead, which comes to
    /// life when its time has come.
    private static func end(of token: AuditRecord.Token) -> Date {
        // A verifier whose clock is behind takes the token for alive a little longer.
        Date(timeIntervalSince1970: TimeInterval(token.expiresAt)) + self.clockTolerance
    }

    /// The tokens of a target that are alive for a verifier whose clock is behind, each once, however often it was handed
    /// out.
    private static func tokens(
        of target: RevocationTarget, after head: AuditHead?, at now: Date, in database: any TokenServerTransaction
    ) throws -> [AuditRecord.Token] {
        let isMeant: (AuditRecord) -> Bool
        switch target {
        case .fingerprint(let value): isMeant = { $0.token?.fingerprint == value }
        case .key(let id): isMeant = { $0.token?.keyID == id }
        case .caller(let name): isMeant = { $0.caller == name }
        case .subject(let subject): isMeant = { $0.callerID.subject == subject }
        case .resource(let resource): isMeant = { $0.claims.names(resource) }
        }
        var query = AuditQuery()
        query.from = now.addingTimeInterval(-Revocation.longest - self.clockTolerance)
        query.after = head
        query.decision = .granted
        query.mentioned = target.mentioned
        var living: [AuditRecord.Token] = []
        var fingerprints: Set<String> = []
        try AuditReader.search(query, in: database) { match in
            guard case .decision(let record) = match.event, isMeant(record), let token = record.token,
                Self.end(of: token) > now, fingerprints.insert(token.fingerprint).inserted
            else { return }
            living.append(token)
        }
        return living
    }

    /// A time as the store has it, in whole Unix seconds.
    static func seconds(_ date: Date) -> Int64 { Int64(date.timeIntervalSince1970.rounded(.down)) }
}
