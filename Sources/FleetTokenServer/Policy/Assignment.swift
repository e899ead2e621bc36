// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
public import Foundation

/// What somebody can be assigned to.
public enum AssignedResource: Hashable, Sendable {
    /// An on-demand vehicle, for its driver.
    case vehicle(VehicleID)
    /// An on-demand trip, for its customer.
    case trip(TripID)
    /// A delivery vehicle, for its driver.
    case deliveryVehicle(DeliveryVehicleID)
    /// A task, for the trusted driver who does it or the recipient who waits for it.
    case task(TaskID)
    /// A shipment by its tracking id, for its recipient.
    case tracking(TrackingID)

    /// The kinds' names in rules, commands and stores.
    static let kinds = ["vehicle", "trip", "delivery_vehicle", "task", "tracking"]

    /// The kind's name in rules, commands and stores.
    public var kind: String {
        switch self {
        case .vehicle: "vehicle"
        case .trip: "trip"
        case .deliveryVehicle: "delivery_vehicle"
        case .task: "task"
        case .tracking: "tracking"
        }
    }

    /// The id's text.
    public var id: String {
        switch self {
        case .vehicle(let id): id.value
        case .trip(let id): id.value
        case .deliveryVehicle(let id): id.value
        case .task(let id): id.value
        case .tracking(let id): id.value
        }
    }

    /// Reads a resource from its kind and id, as stores and requests hold them.
    ///
    /// - Parameters:
    ///   - kind: One of `vehicle`, `trip`, `delivery_vehicle`, `task`, `tracking`.
    ///   - id: The id's text.
    /// - Throws: `TokenError` with `invalidIdentifier`.
    public init(kind: String, id: String) throws(TokenError) {
        switch kind {
        case "vehicle": self = .vehicle(try VehicleID(checking: id))
        case "trip": self = .trip(try TripID(checking: id))
        case "delivery_vehicle": self = .deliveryVehicle(try DeliveryVehicleID(checking: id))
        case "task": self = .task(try TaskID(checking: id))
        case "tracking": self = .tracking(try TrackingID(checking: id))
        default:
            throw TokenError(
                code: .invalidIdentifier,
                message: "There is no kind of resource \"\(kind.prefix(64))\"; "
                    + "use vehicle, trip, delivery_vehicle, task or tracking."
            )
        }
    }
}

/// Somebody may hold something for a time.
public struct Assignment: Hashable, Sendable {
    /// Who.
    public var holder: CallerID
    /// What.
    public var resource: AssignedResource
    /// From when on, inclusive.
    public var start: Date
    /// Until when, exclusive; `nil` until it is ended.
    public var end: Date?

    /// Describes an assignment.
    public init(holder: CallerID, resource: AssignedResource, start: Date, end: Date? = nil) {
        self.holder = holder
        self.resource = resource
        self.start = start
        self.end = end
    }

    /// Whether the assignment holds at a time.
    public func holds(at time: Date) -> Bool {
        self.start <= time && self.end.map { time < $0 } ?? true
    }
}
