// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetSigning
public import FleetTokens
public import Foundation

/// What administrators change in the token server's store; each change and its record in the audit are one transaction.
///
/// What changes nothing, such as ending what nobody holds, leaves no record; a withdrawal always does. After an error
/// nothing was kept, neither the change nor its record; only where PostgreSQL was lost or did not answer in time, both may
/// have been.
///
/// With each change of assignments, up to 1,000 of those that ended 30 days ago or earlier are removed.
public struct Administration: Sendable {
    /// How long a withdrawal waits for tokens that are being made, a little longer than a desk hands one out without a
    /// second look.
    private static let pause = Duration.seconds(TokenDesk.stale) + .milliseconds(50)

    private let store: TokenServerStore
    private let waiting: TimeSource
    var database: any TokenServerDatabase { self.store.database }

    /// Changes a store.
    public init(store: TokenServerStore) {
        self.init(store: store, waiting: TimeSource(clock: ContinuousClock()))
    }

    /// Changes a store.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - waiting: The clock by which withdrawals wait.
    init(store: TokenServerStore, waiting: TimeSource) {
        self.store = store
        self.waiting = waiting
    }

    /// The time that changes are made by, see ``TokenServerStore/time(by:)``.
    func time(by clock: @escaping @Sendable () -> Date) async throws(TokenServerError) -> Date {
        try await self.store.time(by: clock)
    }

    /// Adds an assignment; one that is there already changes nothing, nor does one that ended 30 days ago or earlier.
    ///
    /// - Parameters:
    ///   - assignment: The assignment.
    ///   - isBegunEnough: Whether one that began earlier counts as it, where neither has an end.
    ///   - actor: Who adds it.
    ///   - now: The time.
    /// - Returns: The assignment that is there now, its times in whole milliseconds, and whether it was added.
    /// - Throws: An error of the store.
    @discardableResult
    public func add(
        _ assignment: Assignment, unlessBegun isBegunEnough: Bool = false, by actor: AuditChange.Actor, at now: Date
    ) async throws -> (assignment: Assignment, isNew: Bool) {
        let assignment = StoredAssignments.kept(assignment)
        var details = Self.details(assignment.resource)
        details["holder"] = assignment.holder.description
        details["start"] = APITime.text(assignment.start)
        details["end"] = assignment.end.map { APITime.text($0) }
        let change = AuditChange(.assignmentAdded, details, by: actor, at: now)
        return try await self.change { database in
            try StoredAssignments.removeEnded(at: now, in: database)
            if isBegunEnough, let begun = try StoredAssignments.begun(like: assignment, in: database) {
                return ((begun, false), nil)
            }
            // It would be removed with the next change, and be new again when it is added again.
            guard !StoredAssignments.isOver(assignment, at: now) else { return ((assignment, false), nil) }
            let isNew = try StoredAssignments.add(assignment, in: database)
            return ((assignment, isNew), isNew ? change : nil)
        }
    }

    /// Ends the assignments of a holder to a resource that hold or begin at or after a time.
    ///
    /// - Parameters:
    ///   - resource: What.
    ///   - holder: Who.
    ///   - start: Only those that begin within this second, as lists tell times; `nil` for all.
    ///   - time: From when on none of them holds.
    ///   - actor: Who ends them.
    ///   - now: The time.
    /// - Returns: How many were changed.
    /// - Throws: An error of the store.
    @discardableResult
    public func end(
        _ resource: AssignedResource, of holder: CallerID, beginning start: Date? = nil, at time: Date,
        by actor: AuditChange.Actor, now: Date
    ) async throws -> Int {
        var details = Self.details(resource)
        details["holder"] = holder.description
        details["start"] = start.map { APITime.text($0) }
        details["at"] = APITime.text(StoredAssignments.kept(time))
        let known = details
        return try await self.change { database in
            try StoredAssignments.removeEnded(at: now, in: database)
            let count = try StoredAssignments.end(resource, of: holder, beginning: start, at: time, in: database)
            guard count > 0 else { return (count, nil) }
            let counted = known.merging(["count": "\(count)"]) { $1 }
            return (count, AuditChange(.assignmentEnded, counted, by: actor, at: now))
        }
    }

    /// Withdraws tokens.
    ///
    /// Subjects, callers and resources are looked up in the audit and turned into the fingerprints of their living tokens.
    /// New tokens are a matter of the policy: end the assignment or the account first, withdraw then. A token that was
    /// decided on before that end is recorded before the audit is looked through, which waits for it, or its desk sees the
    /// end when it decides once more.
    ///
    /// - Parameters:
    ///   - target: Whose.
    ///   - actor: Who withdraws them.
    ///   - now: The time, see ``TokenServerStore/time(by:)``.
    /// - Returns: What verifiers will refuse by it.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidTarget``, or an error of the store.
    @discardableResult
    public func revoke(
        _ target: RevocationTarget, by actor: AuditChange.Actor, at now: Date
    ) async throws -> [Revocation] {
        if target.isLookedUp { try await self.waiting.sleep(for: Self.pause) }
        let known = try await RevocationStore(store: self.store).livingTokens(of: target, at: now)
        // All but a few are written before the head is locked, as every decision waits for that.
        return try await self.change(first: { try RevocationStore.withdraw(known, at: now, in: $0) }) { database in
            let revocations = try RevocationStore.withdraw(target, knowing: known, at: now, in: database)
            let details = ["kind": target.kind, "id": target.value, "count": "\(revocations.count)"]
            return (revocations, AuditChange(.tokensWithdrawn, details, by: actor, at: now))
        }
    }

    /// Records that a role has a new key.
    ///
    /// Keys are files, so the record follows the deed.
    ///
    /// - Parameters:
    ///   - keyID: The new key.
    ///   - role: The role.
    ///   - actor: Who made it.
    ///   - now: The time.
    /// - Throws: An error of the store.
    public func recordRotation(
        to keyID: String, of role: Role, by actor: AuditChange.Actor, at now: Date
    ) async throws {
        let details = ["role": role.rawValue, "key_id": keyID]
        try await self.change { _ in ((), AuditChange(.keyRotated, details, by: actor, at: now)) }
    }

    /// Records that a key was removed.
    ///
    /// Keys are files, so the record follows the deed.
    ///
    /// - Parameters:
    ///   - keyID: The key.
    ///   - role: The role.
    ///   - isForced: Whether tokens of it may have been alive.
    ///   - actor: Who removed it.
    ///   - now: The time.
    /// - Throws: An error of the store.
    public func recordRetirement(
        of keyID: String, of role: Role, isForced: Bool, by actor: AuditChange.Actor, at now: Date
    ) async throws {
        let details = ["role": role.rawValue, "key_id": keyID, "forced": "\(isForced)"]
        try await self.change { _ in ((), AuditChange(.keyRetired, details, by: actor, at: now)) }
    }

    /// Makes a change and records it, where it is one.
    func change<Result: Sendable>(
        first prepare: @escaping @Sendable (any TokenServerTransaction) throws -> Void = { _ in },
        _ body: @escaping @Sendable (any TokenServerTransaction) throws -> (Result, AuditChange?)
    ) async throws -> Result {
        try await self.database.write { database in
            try prepare(database)
            // Before anything that another may wait for: who holds the head waits for nobody else.
            let head = try database.lockHead()
            let (result, change) = try body(database)
            if let change {
                let entry = AuditEntry(.change(change), after: head)
                try database.append([entry], head: AuditHead(entry))
            }
            return result
        }
    }

    private static func details(_ resource: AssignedResource) -> [String: String] {
        ["kind": resource.kind, "id": resource.id]
    }
}

extension RevocationTarget {
    /// Whether the audit alone tells which tokens are meant.
    fileprivate var isLookedUp: Bool {
        switch self {
        case .fingerprint, .key: false
        case .caller, .subject, .resource: true
        }
    }

    /// What kind of thing names the tokens, in the words of the admin API.
    var kind: String {
        switch self {
        case .fingerprint: "fingerprint"
        case .key: "key"
        case .caller: "caller"
        case .subject: "subject"
        case .resource(let resource): resource.kind
        }
    }

    /// Its id, name or fingerprint.
    var value: String {
        switch self {
        case .fingerprint(let value), .key(let value), .caller(let value), .subject(let value): value
        case .resource(let resource): resource.id
        }
    }
}
