// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import GRDB

/// Assignments in the token server's store; what one process changes is what the others answer next.
public struct SQLiteAssignmentStore: AssignmentStore {
    private let store: TokenServerStore

    /// Keeps assignments in a store.
    public init(store: TokenServerStore) {
        self.store = store
    }

    /// Whether somebody holds a resource at a time.
    public func isAssigned(_ resource: AssignedResource, to holder: CallerID, at time: Date) async throws -> Bool {
        try await !self.assignments(of: holder, to: resource, at: time, limit: 1).isEmpty
    }

    /// Adds an assignment.
    public func add(_ assignment: Assignment) async throws {
        try await self.store.pool.write { database in
            try database.execute(
                sql: """
                    INSERT OR IGNORE INTO assignment (issuer, subject, kind, resource, start_ms, end_ms)
                    VALUES (?, ?, ?, ?, ?, ?)
                    """,
                arguments: [
                    assignment.holder.issuer, assignment.holder.subject, assignment.resource.kind,
                    assignment.resource.id, Self.milliseconds(assignment.start),
                    assignment.end.map(Self.milliseconds),
                ])
        }
    }

    /// Ends what a holder has of a resource from a time on.
    @discardableResult
    public func end(_ resource: AssignedResource, of holder: CallerID, at time: Date) async throws -> Int {
        try await self.store.pool.write { database in
            let time = Self.milliseconds(time)
            let condition = """
                issuer = ? AND subject = ? AND kind = ? AND resource = ? AND (end_ms IS NULL OR end_ms > ?)
                """
            let arguments: StatementArguments = [
                holder.issuer, holder.subject, resource.kind, resource.id, time,
            ]
            try database.execute(
                sql: "DELETE FROM assignment WHERE \(condition) AND start_ms >= ?", arguments: arguments + [time])
            let removed = database.changesCount
            // Two that began together may end together now, and are one then.
            try database.execute(
                sql: "UPDATE OR REPLACE assignment SET end_ms = ? WHERE \(condition)", arguments: [time] + arguments)
            return removed + database.changesCount
        }
    }

    /// Lists assignments.
    public func assignments(
        of holder: CallerID?, to resource: AssignedResource?, at time: Date?, limit: Int
    ) async throws -> [Assignment] {
        var conditions = ["1"]
        var arguments = StatementArguments()
        if let holder {
            conditions.append("issuer = ? AND subject = ?")
            arguments += [holder.issuer, holder.subject]
        }
        if let resource {
            conditions.append("kind = ? AND resource = ?")
            arguments += [resource.kind, resource.id]
        }
        if let time {
            conditions.append("start_ms <= ? AND (end_ms IS NULL OR end_ms > ?)")
            arguments += [Self.milliseconds(time), Self.milliseconds(time)]
        }
        arguments += [max(0, limit)]
        let (condition, values) = (conditions.joined(separator: " AND "), arguments)
        return try await self.store.pool.read { database in
            try Row.fetchAll(
                database,
                sql: """
                    SELECT issuer, subject, kind, resource, start_ms, end_ms FROM assignment WHERE \(condition)
                    ORDER BY start_ms, issuer || '/' || subject, kind, resource LIMIT ?
                    """,
                arguments: values
            ).map { row in
                Assignment(
                    holder: CallerID(issuer: row[0], subject: row[1]),
                    resource: try AssignedResource(kind: row[2], id: row[3]), start: Self.date(row[4]),
                    end: (row[5] as Int64?).map(Self.date))
            }
        }
    }

    private static func milliseconds(_ date: Date) -> Int64 { Int64((date.timeIntervalSince1970 * 1000).rounded()) }
    private static func date(_ milliseconds: Int64) -> Date {
        Date(timeIntervalSince1970: TimeInterval(milliseconds) / 1000)
    }
}
