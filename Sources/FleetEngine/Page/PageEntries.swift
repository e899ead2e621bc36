// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Foundation
import SwiftProtobuf

/// An on-demand vehicle.
struct PageVehicle: Encodable, Hashable, Sendable {
    let id: String
    let state: String
    let place: PagePlace?
    let heading: Int32?
    /// Kilometres an hour; `nil` also where a report is beyond what a number holds.
    let speed: Double?
    let type: String
    let trips: [String]
    /// The way to the next stop, as an encoded polyline.
    let route: String
    let reported: Int64

    init(_ vehicle: Vehicle, id: String) {
        let location = vehicle.lastLocation
        let speed = location.speed.value * 3.6
        self.id = id
        self.state = vehicle.vehicleState.word
        self.place = location.place.map(PagePlace.init)
        self.heading = location.hasHeading ? location.heading.value : nil
        self.speed = location.hasSpeed && speed.isFinite ? speed : nil
        self.type = vehicle.vehicleType.category.word
        self.trips = vehicle.currentTrips
        self.route = vehicle.currentRouteSegment
        self.reported = location.serverTime.date.milliseconds
    }
}

/// A trip.
struct PageTrip: Encodable, Hashable, Sendable {
    let id: String
    let status: String
    let isUnderway: Bool
    let vehicle: String
    let pickup: PagePlace?
    let dropoff: PagePlace?
    let stops: [PagePlace]

    init(_ trip: Trip, id: String) {
        self.id = id
        self.status = trip.tripStatus.word
        self.isUnderway = trip.isUnderway
        self.vehicle = trip.vehicleID
        self.pickup = trip.hasPickupPoint ? PagePlace(trip.pickupPoint.point) : nil
        self.dropoff = trip.hasDropoffPoint ? PagePlace(trip.dropoffPoint.point) : nil
        self.stops = trip.intermediateDestinations.map { PagePlace($0.point) }
    }
}

/// A vehicle of the scheduled-tasks service with the stops ahead of it.
struct PageDeliveryVehicle: Encodable, Hashable, Sendable {
    struct Stop: Encodable, Hashable, Sendable {
        let place: PagePlace
        let state: String
        let tasks: [String]
    }

    let id: String
    let place: PagePlace?
    let heading: Int32?
    let stops: [Stop]
    let reported: Int64

    init(_ vehicle: DeliveryVehicle, id: String) {
        let location = vehicle.lastLocation
        self.id = id
        self.place = location.place.map(PagePlace.init)
        self.heading = location.hasHeading ? location.heading.value : nil
        self.stops = vehicle.remainingVehicleJourneySegments.map { segment in
            Stop(
                place: PagePlace(segment.stop.plannedLocation.point), state: segment.stop.state.word,
                tasks: segment.stop.tasks.map(\.taskID))
        }
        self.reported = location.serverTime.date.milliseconds
    }
}

/// A task of the scheduled-tasks service.
struct PageTask: Encodable, Hashable, Sendable {
    let id: String
    let type: String
    let state: String
    let outcome: String
    let vehicle: String
    let tracking: String
    let place: PagePlace?

    init(_ task: DeliveryTask, id: String) {
        self.id = id
        self.type = task.type.word
        self.state = task.state.word
        self.outcome = task.taskOutcome.word
        self.vehicle = task.deliveryVehicleID
        self.tracking = task.trackingID
        self.place = task.hasPlannedLocation ? PagePlace(task.plannedLocation.point) : nil
    }
}

extension Enum {
    /// The value's case in lower case with spaces: `enrouteToPickup` is `enroute to pickup`.
    fileprivate var word: String {
        "\(self)".reduce(into: "") { word, character in
            if character.isUppercase { word += " " }
            word += character.lowercased()
        }
    }
}
