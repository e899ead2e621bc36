// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import Foundation

/// A database that holds the token server's tables; one conformance suite runs against every implementation.
///
/// The statements are those that all of them understand, with `?` for a parameter. Bodies may run on any thread, and may
/// run again when another process was in the way; they do no I/O of their own.
protocol TokenServerDatabase: Sendable {
    /// Where it is, without secrets.
    var place: String { get }

    /// Runs a body that only looks, on a consistent snapshot.
    ///
    /// - Throws: What the body throws, ``TokenServerError`` for what SQLite says, or an error of PostgreSQL.
    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any TokenServerTransaction) throws -> Result
    ) async throws -> Result

    /// Runs a body that may change something, and returns once its changes are durable.
    ///
    /// - Parameters:
    ///   - deadline: When to stop waiting for others that write. SQLite takes no notice, and waits as long as it always does.
    ///   - body: The body.
    /// - Returns: What the body returns.
    /// - Throws: As ``read(_:)`` does.
    func write<Result: Sendable>(
        until deadline: ContinuousClock.Instant,
        _ body: @escaping @Sendable (any TokenServerTransaction) throws -> Result
    ) async throws -> Result

    /// Looks whether what is written now is where others find it; where it is not, nothing is read or written until it is.
    ///
    /// It costs next to nothing, and more than what each transaction looks at by itself.
    ///
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/storeReplaced``.
    func look() async throws

    /// Tries whether a record could be kept now, by one that is taken back; waits 2 seconds at most for others.
    ///
    /// - Parameter commits: Whether all that a record needs of the disk is asked of it, which finds a full one too, and
    ///   costs as much as a record.
    /// - Throws: Why none could.
    func probe(commits: Bool) async throws

    /// Lets go of it.
    func close() throws
}

extension TokenServerDatabase {
    /// Runs a body that may change something, and returns once its changes are durable; others that are in the way are
    /// waited for as long as is usual.
    ///
    /// - Throws: As ``read(_:)`` does.
    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any TokenServerTransaction) throws -> Result
    ) async throws -> Result {
        try await self.write(until: .now + .patience, body)
    }
}

extension Duration {
    /// How long others that are in the way of a transaction are waited for.
    static var patience: Self { .seconds(5) }
}

/// What can be done within a transaction.
protocol TokenServerTransaction: AnyObject {
    /// Hands out rows one at a time, in constant memory, until the body returns `false`.
    func rows(_ sql: String, _ values: [StoreValue], _ body: (any StoreRow) throws -> Bool) throws

    /// Runs a statement, and says how many rows it changed.
    @discardableResult
    func execute(_ sql: String, _ values: [StoreValue]) throws -> Int

    /// What time it is where the database is; `nil` where it has no clock but this machine's.
    func time() throws -> Date?

    /// The head of the audit's chain, which nobody else may move until the transaction ends.
    func lockHead() throws -> AuditHead

    /// Keeps entries of the audit and their new head.
    func append(_ entries: [AuditEntry], head: AuditHead) throws

    /// Withdraws each until its end; until the transaction ends, nobody else withdraws anything.
    ///
    /// Comes before ``lockHead()``, or after it where it came before: so nobody who has the head waits for another.
    ///
    /// - Parameter revocations: Each kind and value once.
    /// - Throws: An error of the database.
    func withdraw(_ revocations: [Revocation]) throws
}

extension TokenServerTransaction {
    /// The head of the audit's chain.
    func keptHead() throws -> AuditHead {
        var head: AuditHead?
        try self.rows("SELECT sequence, hash FROM audit_head", []) { row in
            head = AuditHead(sequence: try row.integer(0), hash: try row.text(1))
            return false
        }
        guard let head else { throw AuditFault(sequence: 1, message: "The head of the chain is missing.") }
        return head
    }

    /// The part of the audit's chain that is here.
    func keptSpan() throws -> AuditSpan {
        var span: AuditSpan?
        let head = try self.keptHead()
        try self.rows("SELECT sequence, hash, is_archive FROM audit_start", []) { row in
            span = AuditSpan(
                start: AuditHead(sequence: try row.integer(0), hash: try row.text(1)), head: head,
                isArchive: try row.integer(2) != 0)
            return false
        }
        guard let span else { throw AuditFault(sequence: 1, message: "The start of the chain is missing.") }
        return span
    }
}

/// One row of an answer, valid until the next is asked for.
protocol StoreRow {
    /// The whole number in a column.
    func integer(_ column: Int) throws -> Int64
    /// The text in a column.
    func text(_ column: Int) throws -> String
    /// Whether a column is `NULL`.
    func isNull(_ column: Int) -> Bool
}

/// A parameter of a statement.
enum StoreValue: Sendable {
    case null
    case integer(Int64)
    case text(String)
}
