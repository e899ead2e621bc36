// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// A resource that stores keep, and what it can be found by other than its id.
protocol StoredResource: Message, Sendable, Equatable {
    associatedtype Kind: FleetIDKind

    /// The collection that holds resources of this type; a table of this name in SQLite.
    static var collection: StoreCollection { get }

    /// What the resource can be found by.
    var keys: StoreKeys { get }
}

/// The collections of a provider.
enum StoreCollection: String, CaseIterable, Sendable {
    case vehicles = "vehicle"
    case trips = "trip"
    case deliveryVehicles = "delivery_vehicle"
    case tasks = "task"
}

/// What a resource can be found by other than its id.
struct StoreKeys: Hashable, Sendable {
    /// Whether the resource is at work: a vehicle online, a trip on a vehicle's way, a task open.
    var isActive = true
    /// The id of the vehicle that a trip or a task belongs to.
    var holder: String?
    /// The tracking id of a task.
    var tracking: String?
    /// Where a vehicle was last.
    var place: LatLng?
}

extension Vehicle: StoredResource {
    typealias Kind = VehicleKind
    static var collection: StoreCollection { .vehicles }

    var keys: StoreKeys {
        StoreKeys(
            isActive: self.vehicleState == .online,
            place: self.lastLocation.place
        )
    }

}

extension Trip: StoredResource {
    typealias Kind = TripKind
    static var collection: StoreCollection { .trips }

    var keys: StoreKeys {
        StoreKeys(isActive: self.isUnderway, holder: self.vehicleID.isEmpty ? nil : self.vehicleID)
    }
}

extension DeliveryVehicle: StoredResource {
    typealias Kind = DeliveryVehicleKind
    static var collection: StoreCollection { .deliveryVehicles }

    var keys: StoreKeys { StoreKeys(place: self.lastLocation.place) }
}

extension DeliveryTask: StoredResource {
    typealias Kind = TaskKind
    static var collection: StoreCollection { .tasks }

    var keys: StoreKeys {
        StoreKeys(
            isActive: self.state == .open,
            holder: self.deliveryVehicleID.isEmpty ? nil : self.deliveryVehicleID,
            tracking: self.trackingID.isEmpty ? nil : self.trackingID
        )
    }
}
