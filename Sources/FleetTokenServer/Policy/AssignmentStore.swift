// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Knows who may hold which vehicle, trip, task or shipment, and when.
///
/// What ``add(_:)`` and ``end(_:of:at:)`` change is what the next ``isAssigned(_:to:at:)`` answers.
public protocol AssignmentStore: Sendable {
    /// Whether somebody holds a resource at a time.
    ///
    /// - Parameters:
    ///   - resource: What.
    ///   - holder: Who.
    ///   - time: When.
    /// - Returns: Whether one of the assignments holds.
    /// - Throws: An error when the store cannot answer; nothing is granted then.
    func isAssigned(_ resource: AssignedResource, to holder: CallerID, at time: Date) async throws -> Bool

    /// Adds an assignment; one that is there already changes nothing.
    ///
    /// - Parameter assignment: The assignment.
    /// - Throws: An error when it was not kept, or that is not known.
    func add(_ assignment: Assignment) async throws

    /// Ends the assignments of a holder to a resource that hold or begin at or after a time.
    ///
    /// - Parameters:
    ///   - resource: What.
    ///   - holder: Who.
    ///   - time: From when on none of them holds.
    /// - Returns: How many were changed.
    /// - Throws: An error when it was not kept, or that is not known.
    @discardableResult
    func end(_ resource: AssignedResource, of holder: CallerID, at time: Date) async throws -> Int

    /// Lists assignments, in the order of their start, then holder, kind and id.
    ///
    /// - Parameters:
    ///   - holder: Only this holder's, or `nil` for anyone's.
    ///   - resource: Only to this resource, or `nil` for any.
    ///   - time: Only those that hold then, or `nil` for past and future ones too.
    ///   - end: Only those that hold or begin after that, or `nil` for past ones too.
    ///   - limit: The most to return.
    /// - Returns: The assignments.
    /// - Throws: An error when the store cannot answer.
    func assignments(
        of holder: CallerID?, to resource: AssignedResource?, at time: Date?, endingAfter end: Date?, limit: Int
    ) async throws -> [Assignment]
}

extension AssignmentStore {
    /// Lists assignments whenever they end, as ``assignments(of:to:at:endingAfter:limit:)`` does.
    public func assignments(
        of holder: CallerID?, to resource: AssignedResource?, at time: Date?, limit: Int
    ) async throws -> [Assignment] {
        try await self.assignments(of: holder, to: resource, at: time, endingAfter: nil, limit: limit)
    }
}
