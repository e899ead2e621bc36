// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetSigning
public import Foundation

/// Withdraws tokens, and tells verifiers which ones; kept in the token server's store.
///
/// Subjects, callers and resources are looked up in the audit and turned into the fingerprints of their living tokens, so
/// the list is exact, short, and holds nothing for longer than a token lives. New tokens are a matter of the policy: end
/// the assignment or the account first, withdraw then.
public struct RevocationStore: Sendable {
    private let store: TokenServerStore

    /// Keeps revocations in a store.
    public init(store: TokenServerStore) {
        self.store = store
    }

    /// Withdraws tokens.
    ///
    /// - Parameters:
    ///   - target: Whose.
    ///   - now: The time.
    /// - Returns: What verifiers will refuse by it.
    /// - Throws: An error of the store when nothing was kept.
    @discardableResult
    public func revoke(_ target: RevocationTarget, at now: Date) async throws -> [Revocation] {
        try await self.store.database.write { try Self.revoke(target, at: now, in: $0) }
    }

    /// Withdraws tokens within a transaction.
    static func revoke(
        _ target: RevocationTarget, at now: Date, in database: any TokenServerTransaction
    ) throws -> [Revocation] {
        let revocations = try self.revocations(of: target, at: now, in: database)
        try database.execute("DELETE FROM revocation WHERE ends_at <= ?", [.integer(self.seconds(now))])
        for revocation in revocations {
            try database.execute(
                """
                INSERT INTO revocation (kind, value, ends_at) VALUES (?, ?, ?)
                ON CONFLICT (kind, value) DO UPDATE SET ends_at = excluded.ends_at
                """,
                [
                    .text(revocation.kind.rawValue), .text(revocation.value),
                    .integer(self.seconds(revocation.endsAt)),
                ])
        }
        return revocations
    }

    /// What is withdrawn at a time.
    ///
    /// - Parameter now: The time.
    /// - Returns: The list, in no order that means anything.
    /// - Throws: An error of the store.
    public func current(at now: Date) async throws -> [Revocation] {
        try await self.store.database.read { database in
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

    private static func revocations(
        of target: RevocationTarget, at now: Date, in database: any TokenServerTransaction
    ) throws -> [Revocation] {
        let end = now.addingTimeInterval(Revocation.longest)
        switch target {
        case .fingerprint(let value): return [Revocation(kind: .fingerprint, value: value, endsAt: end)]
        case .key(let id): return [Revocation(kind: .key, value: id, endsAt: end)]
        case .caller(let name): return try Self.living(at: now, in: database) { $0.caller == name }
        case .subject(let subject): return try Self.living(at: now, in: database) { $0.callerID.subject == subject }
        case .resource(let resource): return try Self.living(at: now, in: database) { $0.claims.names(resource) }
        }
    }

    private static func living(
        at now: Date, in database: any TokenServerTransaction, where isMeant: (AuditRecord) -> Bool
    ) throws -> [Revocation] {
        var query = AuditQuery()
        query.from = now.addingTimeInterval(-Revocation.longest)
        query.decision = .granted
        var living: [Revocation] = []
        try AuditReader.search(query, in: database) { match in
            guard case .decision(let record) = match.event, isMeant(record), let token = record.token,
                token.expiresAt > Self.seconds(now)
            else { return }
            living.append(
                Revocation(
                    kind: .fingerprint, value: token.fingerprint,
                    endsAt: Date(timeIntervalSince1970: TimeInterval(token.expiresAt))))
        }
        return living
    }

    private static func seconds(_ date: Date) -> Int64 { Int64(date.timeIntervalSince1970.rounded(.down)) }
}
