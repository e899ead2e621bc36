// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetTokenServer
import FleetTokens

/// What can be held, and withdrawn, by its id.
struct ResourceOptions: ParsableArguments {
    @Option(help: "A vehicle.", transform: checkedID)
    var vehicle: VehicleID?

    @Option(help: "A trip.", transform: checkedID)
    var trip: TripID?

    @Option(help: "A delivery vehicle.", transform: checkedID)
    var deliveryVehicle: DeliveryVehicleID?

    @Option(help: "A task.", transform: checkedID)
    var task: TaskID?

    @Option(
        name: [.customLong("tracking"), .customLong("tracking-id")], help: "A shipment's tracking id.",
        transform: checkedID)
    var tracking: TrackingID?

    /// The resources that are named.
    var all: [AssignedResource] {
        [
            self.vehicle.map(AssignedResource.vehicle), self.trip.map(AssignedResource.trip),
            self.deliveryVehicle.map(AssignedResource.deliveryVehicle), self.task.map(AssignedResource.task),
            self.tracking.map(AssignedResource.tracking),
        ].compactMap(\.self)
    }
}
