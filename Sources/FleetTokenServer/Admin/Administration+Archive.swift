// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

extension Administration {
    /// How long records stay in the store at least: whose tokens are alive is looked up there.
    public static let leastAuditAge: Duration = .seconds(2 * 3600)

    /// How far a clock may be ahead; a record from later than that is of no time that can be told.
    private static let clockTolerance: TimeInterval = 60

    /// How many records are looked through at once.
    private static let window: Int64 = 100_000

    /// How many records are removed at once, for the time that one commit takes.
    private static let portion: Int64 = 4000

    /// Moves the records of the audit from before a time to a file of their own, which is read as any store.
    ///
    /// The chain goes on: it starts where the file ends, and a record of the move tells so. A record from the future, by a
    /// clock that was ahead, is as old as those that follow it. Records are removed from the
    /// store when the file is whole and on the disk; a run that was cut short is finished by the next.
    ///
    /// - Parameters:
    ///   - age: How old records may become in the store; ``leastAuditAge`` at least.
    ///   - path: The file, which must not exist.
    ///   - actor: Who moves them.
    ///   - now: The time.
    /// - Returns: The records that were moved; `nil` where none is that old, and there is no file then.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/storeUnavailable`` that says what to mend, and whether
    ///   the file is to be kept, ``AuditFault`` where the chain does not hold, or an error of the store; nothing was moved
    ///   by the latter two.
    public func archiveAudit(
        olderThan age: Duration, to path: String, by actor: AuditChange.Actor, at now: Date
    ) async throws -> ArchivedAudit? {
        let age = max(age, Self.leastAuditAge)
        try await self.removeArchived()
        let time = now.addingTimeInterval(-TimeInterval(age.components.seconds))
        guard let span = try await self.database.read({ try Self.span(before: time, at: now, in: $0) })
        else { return nil }
        let draft = try AuditArchiveDraft(of: path)
        defer { draft.remove() }
        do {
            try await AuditArchive(source: self.database).write(span, to: draft.path)
        } catch let error as TokenServerError where error.code == .recordsArchived {
            throw Self.isArchivedElsewhere
        }
        try draft.place()
        let isReleased: Bool
        do {
            isReleased = try await self.release(span, to: path, by: actor, at: now)
        } catch {
            // The store may have kept it, and failed to say so.
            throw TokenServerError(
                code: .storeUnavailable,
                message:
                    "It is not known whether the records were moved to \(path): \(error). Keep the file, which is the "
                    + "archive where audit verify tells start=\(span.head) of the store.")
        }
        guard isReleased else {
            draft.takeBack()
            throw Self.isArchivedElsewhere
        }
        do {
            try await self.removeArchived()
            return ArchivedAudit(span: span, removalFailure: nil)
        } catch {
            return ArchivedAudit(span: span, removalFailure: error)
        }
    }

    private static var isArchivedElsewhere: TokenServerError {
        TokenServerError(
            code: .storeUnavailable,
            message: "Another archive of the same records was made at the same time; nothing was moved by this one.")
    }

    /// Has the chain start behind records that an archive holds, and records that.
    ///
    /// - Returns: Whether it started where they do, as it does unless another archive was made meanwhile.
    /// - Throws: An error of the store.
    func release(
        _ span: AuditSpan, to path: String, by actor: AuditChange.Actor, at now: Date
    ) async throws -> Bool {
        let details = [
            "count": "\(span.count)", "head": "\(span.head)", "file": URL(filePath: path).lastPathComponent,
        ]
        return try await self.change { database in
            guard try database.keptSpan().start == span.start else { return (false, nil) }
            let start: [StoreValue] = [.integer(span.head.sequence), .text(span.head.hash)]
            try database.execute("UPDATE audit_start SET sequence = ?, hash = ?", start)
            return (true, AuditChange(.recordsArchived, details, by: actor, at: now))
        }
    }

    /// The records from before a time; `nil` where there is none.
    private static func span(
        before time: Date, at now: Date, in database: any TokenServerTransaction
    ) throws -> AuditSpan? {
        let kept = try database.keptSpan()
        func milliseconds(_ date: Date) -> StoreValue {
            .integer(Int64((date.timeIntervalSince1970 * 1000).rounded(.down)))
        }
        let (old, ahead) = (milliseconds(time), milliseconds(now + Self.clockTolerance))
        // Only what is moved is looked at, some of it at a time: what stays may be more than one statement gets through.
        var (last, seen) = (kept.start.sequence, kept.start.sequence)
        while seen < kept.head.sequence {
            var end = min(seen + Self.window, kept.head.sequence)
            let first = try Self.number(
                """
                SELECT min(sequence) FROM audit_record
                WHERE sequence > ? AND sequence <= ? AND time_ms >= ? AND time_ms <= ?
                """, [.integer(seen), .integer(end), old, ahead], in: database)
            if let first { end = first - 1 }
            // A record from the future moves with what follows it; where nothing old does, it may be of now.
            last =
                try Self.number(
                    "SELECT max(sequence) FROM audit_record WHERE sequence > ? AND sequence <= ? AND time_ms < ?",
                    [.integer(seen), .integer(end), old], in: database) ?? last
            seen = end
            guard first == nil else { break }
        }
        guard last > kept.start.sequence else { return nil }
        var head: AuditHead?
        try database.rows("SELECT hash FROM audit_record WHERE sequence = ?", [.integer(last)]) { row in
            head = AuditHead(sequence: last, hash: try row.text(0))
            return false
        }
        guard let head else { throw AuditFault(sequence: last, message: "Record \(last) is missing.") }
        return AuditSpan(start: kept.start, head: head, isArchive: true)
    }

    /// Removes what an archive holds, in portions, as those who ask for a token wait meanwhile.
    private func removeArchived() async throws {
        while try await self.database.write({ try Self.removePortion(in: $0) }) {}
    }

    private static func removePortion(in database: any TokenServerTransaction) throws -> Bool {
        let start = try database.keptSpan().start.sequence
        guard let first = try Self.number("SELECT min(sequence) FROM audit_record", [], in: database), first <= start
        else { return false }
        let last = min(start, first + Self.portion - 1)
        try database.execute("DELETE FROM audit_record WHERE sequence <= ?", [.integer(last)])
        return last < start
    }

    private static func number(
        _ sql: String, _ values: [StoreValue], in database: any TokenServerTransaction
    ) throws -> Int64? {
        var number: Int64?
        try database.rows(sql, values) { row in
            if !row.isNull(0) { number = try row.integer(0) }
            return false
        }
        return number
    }
}

/// Records that were moved to an archive.
public struct ArchivedAudit: Sendable {
    /// The part of the chain that the archive holds.
    public let span: AuditSpan
    /// Why the store's tables still have some of the records, which the next archive removes; `nil` where they have none.
    public let removalFailure: (any Error)?
}
