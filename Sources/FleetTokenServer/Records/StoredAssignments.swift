// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Assignments in the token server's store, where ``Administration`` changes them; what one process changes is what the
/// others answer next.
///
/// What ended 30 days ago is removed with the changes that come then; the audit still tells of it.
public struct StoredAssignments: AssignmentStore {
    /// How long an assignment is kept after its end, in seconds.
    private static let keeping: TimeInterval = 30 * 86_400
    /// How many are removed with one change at most, as decisions wait for it.
    private static let portion: Int64 = 1000

    private let store: TokenServerStore

    /// Reads the assignments in a store.
    public init(store: TokenServerStore) {
        self.store = store
    }

    /// Whether somebody holds a resource at a time.
    public func isAssigned(_ resource: AssignedResource, to holder: CallerID, at time: Date) async throws -> Bool {
        try await !self.assignments(of: holder, to: resource, at: time, limit: 1).isEmpty
    }

    /// Adds an assignment, and says whether it was new.
    static func add(_ assignment: Assignment, in database: any TokenServerTransaction) throws -> Bool {
        try database.execute(
            """
            INSERT INTO assignment (issuer, subject, kind, resource, start_ms, end_ms)
            VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
            """,
            self.key(assignment.resource, assignment.holder) + [
                .integer(self.milliseconds(assignment.start)),
                assignment.end.map { .integer(self.milliseconds($0)) } ?? .null,
            ]) > 0
    }

    /// The first one like an assignment without an end that began before it, and has none either; `nil` without any.
    static func begun(like assignment: Assignment, in database: any TokenServerTransaction) throws -> Assignment? {
        guard assignment.end == nil else { return nil }
        var begun: Assignment?
        try database.rows(
            """
            SELECT start_ms FROM assignment WHERE issuer = ? AND subject = ? AND kind = ? AND resource = ?
            AND start_ms <= ? AND end_ms IS NULL ORDER BY start_ms LIMIT 1
            """,
            self.key(assignment.resource, assignment.holder) + [.integer(self.milliseconds(assignment.start))]
        ) { row in
            begun = assignment
            begun?.start = self.date(try row.integer(0))
            return false
        }
        return begun
    }

    /// Ends what a holder has of a resource from a time on, or of that what begins within a second, and says how many
    /// assignments that changed.
    static func end(
        _ resource: AssignedResource, of holder: CallerID, beginning start: Date? = nil, at time: Date,
        in database: any TokenServerTransaction
    ) throws -> Int {
        let time = StoreValue.integer(self.milliseconds(time))
        var key = self.key(resource, holder)
        var condition = "issuer = ? AND subject = ? AND kind = ? AND resource = ?"
        if let start {
            let second = Int64(start.timeIntervalSince1970.rounded(.down)) * 1000
            condition += " AND start_ms >= ? AND start_ms < ?"
            key += [.integer(second), .integer(second + 1000)]
        }
        condition += " AND (end_ms IS NULL OR end_ms > ?)"
        let count = try database.execute(
            "DELETE FROM assignment WHERE \(condition) AND start_ms >= ?", key + [time, time])
        // Of those that began together, one is enough to end now; and none, where one ended now already.
        let twins = try database.execute(
            """
            DELETE FROM assignment WHERE \(condition) AND EXISTS (
                SELECT 1 FROM assignment AS other WHERE other.issuer = assignment.issuer
                AND other.subject = assignment.subject AND other.kind = assignment.kind
                AND other.resource = assignment.resource AND other.start_ms = assignment.start_ms
                AND (other.end_ms = ? OR ((other.end_ms IS NULL OR other.end_ms > ?) AND other.id < assignment.id)))
            """, key + [time, time, time])
        let ended = try database.execute(
            "UPDATE assignment SET end_ms = ? WHERE \(condition)", [time] + key + [time])
        return count + twins + ended
    }

    /// Whether an assignment ended so long ago that it is kept no longer.
    package static func isOver(_ assignment: Assignment, at now: Date) -> Bool {
        assignment.end.map { self.milliseconds($0) <= self.milliseconds(now - self.keeping) } ?? false
    }

    /// Removes assignments that ended long ago, some at a time.
    static func removeEnded(at now: Date, in database: any TokenServerTransaction) throws {
        try database.execute(
            "DELETE FROM assignment WHERE id IN (SELECT id FROM assignment WHERE end_ms <= ? ORDER BY end_ms LIMIT ?)",
            [.integer(self.milliseconds(now - self.keeping)), .integer(self.portion)])
    }

    /// Lists assignments, in the order of their start, then holder, kind and id.
    ///
    /// - Parameters:
    ///   - holder: Only this holder's, or `nil` for anyone's.
    ///   - resource: Only to this resource, or `nil` for any.
    ///   - time: Only those that hold then, or `nil` for past and future ones too.
    ///   - end: Only those that hold or begin after that, or `nil` for past ones too.
    ///   - limit: The most to return.
    /// - Returns: The assignments.
    /// - Throws: An error of the store.
    public func assignments(
        of holder: CallerID?, to resource: AssignedResource?, at time: Date?, endingAfter end: Date? = nil, limit: Int
    ) async throws -> [Assignment] {
        let query = Self.query(of: holder, to: resource, at: time, endingAfter: end, limit: limit)
        return try await self.store.database.read { database in
            var found: [Assignment] = []
            try database.rows(query.sql, query.values) { row in
                found.append(
                    Assignment(
                        holder: CallerID(issuer: try row.text(0), subject: try row.text(1)),
                        resource: try AssignedResource(kind: try row.text(2), id: try row.text(3)),
                        start: Self.date(try row.integer(4)),
                        end: row.isNull(5) ? nil : Self.date(try row.integer(5))))
                return true
            }
            return found
        }
    }

    /// The statement that lists assignments.
    static func query(
        of holder: CallerID?, to resource: AssignedResource?, at time: Date?, endingAfter end: Date?, limit: Int
    ) -> (sql: String, values: [StoreValue]) {
        var conditions = ["1 = 1"]
        var values: [StoreValue] = []
        if let holder {
            conditions.append("issuer = ? AND subject = ?")
            values += [.text(holder.issuer), .text(holder.subject)]
        }
        if let resource {
            conditions.append("kind = ? AND resource = ?")
            values += [.text(resource.kind), .text(resource.id)]
        }
        if let time {
            conditions.append("start_ms <= ? AND (end_ms IS NULL OR end_ms > ?)")
            values += [.integer(self.milliseconds(time)), .integer(self.milliseconds(time))]
        }
        if let end {
            conditions.append("(end_ms IS NULL OR end_ms > ?)")
            values.append(.integer(self.milliseconds(end)))
        }
        values.append(.integer(Int64(max(0, limit))))
        let sql = """
            SELECT issuer, subject, kind, resource, start_ms, end_ms FROM assignment
            WHERE \(conditions.joined(separator: " AND "))
            ORDER BY start_ms, issuer || '/' || subject, kind, resource LIMIT ?
            """
        return (sql, values)
    }

    private static func key(_ resource: AssignedResource, _ holder: CallerID) -> [StoreValue] {
        [.text(holder.issuer), .text(holder.subject), .text(resource.kind), .text(resource.id)]
    }

    /// An assignment as the store tells it again.
    static func kept(_ assignment: Assignment) -> Assignment {
        var kept = assignment
        kept.start = self.kept(assignment.start)
        kept.end = assignment.end.map(self.kept)
        return kept
    }

    /// A time as the store tells it again: the nearest in whole milliseconds.
    static func kept(_ date: Date) -> Date { self.date(self.milliseconds(date)) }

    private static func milliseconds(_ date: Date) -> Int64 { Int64((date.timeIntervalSince1970 * 1000).rounded()) }
    private static func date(_ milliseconds: Int64) -> Date {
        Date(timeIntervalSince1970: TimeInterval(milliseconds) / 1000)
    }
}
