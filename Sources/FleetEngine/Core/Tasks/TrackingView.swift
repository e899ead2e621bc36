// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// What the recipient of a shipment may see of its task, and of the way of the vehicle that brings it.
enum TrackingView {
    /// Picks the task that a tracking id stands for now: an open one on its way, an open one, or the last to be done.
    static func choose(_ tasks: [(id: String, task: DeliveryTask)]) -> (id: String, task: DeliveryTask)? {
        func rank(_ task: DeliveryTask) -> Int { task.state != .open ? 0 : task.deliveryVehicleID.isEmpty ? 1 : 2 }
        return tasks.max { left, right in
            (rank(left.task), left.task.taskOutcomeTime.microseconds, left.id)
                < (rank(right.task), right.task.taskOutcomeTime.microseconds, right.id)
        }
    }

    /// The task's own part, and as much of the vehicle's way as the task shows now.
    static func show(
        _ task: DeliveryTask, id: String, name: ResourceName, vehicle: DeliveryVehicle?, context: CallContext
    ) -> TaskTrackingInfo {
        var info = TaskTrackingInfo()
        info.name = name.description
        info.trackingID = task.trackingID
        info.state = task.state
        info.taskOutcome = task.taskOutcome
        if task.hasTaskOutcomeTime { info.taskOutcomeTime = task.taskOutcomeTime }
        if task.hasPlannedLocation { info.plannedLocation = task.plannedLocation }
        if task.hasTargetTimeWindow { info.targetTimeWindow = task.targetTimeWindow }
        info.attributes = task.attributes
        guard task.state == .open, let vehicle, let stop = Journey(of: vehicle).stop(of: id) else { return info }
        self.addWay(of: vehicle, to: stop, of: id, task.taskTrackingViewConfig, &info, context: context)
        return info
    }

    private static func addWay(
        of vehicle: DeliveryVehicle, to stop: Int, of task: String, _ config: TaskTrackingViewConfig,
        _ info: inout TaskTrackingInfo, context: CallContext
    ) {
        let way = DeliveryWay(of: vehicle, context: context)
        let arrival = way.arrival(at: stop)
        let meters = way.meters(to: stop)
        let visibility = TrackingVisibility(
            stopCount: Int32(clamping: stop + 1),
            duration: arrival.map { Google_Protobuf_Timestamp(stamping: context.now).duration(to: $0) },
            meters: meters
        )
        if visibility.shows(config.routePolylinePointsVisibility) {
            info.routePolylinePoints = way.legs[...stop].map(\.path).reduce(into: []) { path, leg in
                path += path.last == leg.first ? leg.dropFirst() : leg[...]
            }
        }
        if let arrival, visibility.shows(config.estimatedArrivalTimeVisibility) { info.estimatedArrivalTime = arrival }
        if let arrival, visibility.shows(config.estimatedTaskCompletionTimeVisibility) {
            info.estimatedTaskCompletionTime = arrival.advanced(by: self.service(upTo: task, at: stop, of: vehicle))
        }
        if let meters, visibility.shows(config.remainingDrivingDistanceVisibility) {
            info.remainingDrivingDistanceMeters = Google_Protobuf_Int32Value(Int32(clamping: Int64(meters.rounded())))
        }
        if visibility.shows(config.remainingStopCountVisibility) {
            info.remainingStopCount = Google_Protobuf_Int32Value(visibility.stopCount)
        }
        if vehicle.hasLastLocation, visibility.shows(config.vehicleLocationVisibility) {
            info.vehicleLocation = LocationRules.shared(vehicle.lastLocation)
        }
    }

    /// How long the tasks of a stop take up to and with one of them.
    private static func service(upTo task: String, at stop: Int, of vehicle: DeliveryVehicle) -> Duration {
        let tasks = vehicle.remainingVehicleJourneySegments[stop].stop.tasks
        let last = tasks.firstIndex { $0.taskID == task } ?? 0
        return tasks.prefix(last + 1).reduce(.zero) { $0 + Duration($1.taskDuration) }
    }
}
