// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
public import Foundation

/// Assignments in memory, for tests and for a server that is told them anew at each start.
public final class InMemoryAssignmentStore: AssignmentStore {
    private let held: Locked<[AssignedResource: Set<Assignment>]>

    /// Makes a store.
    ///
    /// - Parameter assignments: What it holds from the start.
    public init(_ assignments: some Sequence<Assignment> = []) {
        self.held = Locked(Dictionary(grouping: assignments, by: \.resource).mapValues(Set.init))
    }

    /// Whether somebody holds a resource at a time.
    public func isAssigned(
        _ resource: AssignedResource, to holder: CallerID, at time: Date
    ) async throws -> Bool {
        self.held.withLock { held in
            held[resource]?.contains { $0.holder == holder && $0.holds(at: time) } ?? false
        }
    }

    /// Adds an assignment; one that is there already changes nothing.
    public func add(_ assignment: Assignment) {
        self.held.withLock { _ = $0[assignment.resource, default: []].insert(assignment) }
    }

    /// Ends the assignments of a holder to a resource that hold or begin at or after a time.
    ///
    /// - Parameters:
    ///   - resource: What.
    ///   - holder: Who.
    ///   - time: From when on none of them holds.
    /// - Returns: How many were changed.
    @discardableResult
    public func end(_ resource: AssignedResource, of holder: CallerID, at time: Date) -> Int {
        self.held.withLock { held in
            var assignments = held[resource] ?? []
            let ended = assignments.filter { assignment in
                assignment.holder == holder && assignment.end.map { $0 > time } ?? true
            }
            assignments.subtract(ended)
            for var assignment in ended where assignment.start < time {
                assignment.end = time
                assignments.insert(assignment)
            }
            held[resource] = assignments.isEmpty ? nil : assignments
            return ended.count
        }
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
    public func assignments(
        of holder: CallerID?, to resource: AssignedResource?, at time: Date?, endingAfter end: Date? = nil, limit: Int
    ) -> [Assignment] {
        let found = self.held.withLock { held in
            let candidates = resource.map { Array(held[$0] ?? []) } ?? held.values.flatMap { $0 }
            return candidates.filter { assignment in
                (holder.map { $0 == assignment.holder } ?? true)
                    && (time.map(assignment.holds(at:)) ?? true)
                    && (end.flatMap { end in assignment.end.map { $0 > end } } ?? true)
            }
        }
        func order(_ assignment: Assignment) -> (Date, String, String, String) {
            (
                assignment.start, assignment.holder.description, assignment.resource.kind, assignment.resource.id
            )
        }
        return Array(found.sorted { order($0) < order($1) }.prefix(max(0, limit)))
    }
}
