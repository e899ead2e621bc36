// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Knows who may hold which vehicle, trip, task or shipment, and when.
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
}
