// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// What the recipient of a shipment may see of its task, and of the way of the vehicle that brings it.
enum TrackingView {
    /// A task of a tracking id.
    struct Choice {
        let id: String
        let task: DeliveryTask
        /// The vehicle that an open task is assigned to.
        let vehicle: DeliveryVehicle?
        /// Which of the vehicle's stops the task is done at, where that was asked for.
        fileprivate let stop: Int?

        /// Whether it is nearer than another or, where neither is, done later.
        fileprivate func precedes(_ other: Choice) -> Bool {
            (self.stop ?? .max, other.task.taskOutcomeTime.microseconds, other.id)
                < (other.stop ?? .max, self.task.taskOutcomeTime.microseconds, self.id)
        }
    }

    /// Picks the task that a tracking id stands for now: an open one that is still to be done, on its way if there is such
    /// a one, and the nearest of several; another open one; or the last to be done.
    ///
    /// - Parameters:
    ///   - tasks: The tasks of the tracking id.
    ///   - vehicle: Gives the vehicle of an open task, if any; it is asked once for all tasks of one vehicle.
    /// - Returns: The task with its vehicle, or `nil` where there is none.
    /// - Throws: What `vehicle` throws.
    static func choose(
        _ tasks: [(id: String, task: DeliveryTask)], vehicle: (DeliveryTask) throws -> DeliveryVehicle?
    ) throws -> Choice? {
        func rank(_ task: DeliveryTask) -> Int {
            guard task.state == .open else { return 0 }
            return (task.taskOutcome == .unspecified ? 3 : 1) + (task.deliveryVehicleID.isEmpty ? 0 : 1)
        }
        let first = tasks.map { rank($0.task) }.max()
        let candidates = tasks.filter { rank($0.task) == first }
        var chosen: Choice?
        for tasks in Dictionary(grouping: candidates, by: \.task.deliveryVehicleID).values {
            let vehicle = tasks[0].task.state == .open ? try vehicle(tasks[0].task) : nil
            let stops = candidates.count > 1 ? vehicle.map { Journey(of: $0).stops } : nil
            for (id, task) in tasks {
                let choice = Choice(id: id, task: task, vehicle: vehicle, stop: stops?[id])
                if chosen.map(choice.precedes) ?? true { chosen = choice }
            }
        }
        return chosen
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
        let way = DeliveryWay(of: vehicle, upTo: stop, context: context)
        let arrival = way.arrival(at: stop)
        let meters = way.meters(to: stop).map { Int32(clamping: Int64($0.rounded())) }
        let visibility = TrackingVisibility(
            stopCount: Int32(clamping: stop + 1), duration: way.duration(to: stop), meters: meters)
        if visibility.shows(config.routePolylinePointsVisibility) {
            let others = vehicle.remainingVehicleJourneySegments[..<stop].map(\.stop.plannedLocation.point.rough)
            info.routePolylinePoints = self.line(of: way, past: others)
        }
        if let arrival, visibility.shows(config.estimatedArrivalTimeVisibility) { info.estimatedArrivalTime = arrival }
        if let arrival, visibility.shows(config.estimatedTaskCompletionTimeVisibility) {
            info.estimatedTaskCompletionTime = arrival.advanced(by: self.service(upTo: task, at: stop, of: vehicle))
        }
        if let meters, visibility.shows(config.remainingDrivingDistanceVisibility) {
            info.remainingDrivingDistanceMeters = Google_Protobuf_Int32Value(meters)
        }
        if visibility.shows(config.remainingStopCountVisibility) {
            info.remainingStopCount = Google_Protobuf_Int32Value(visibility.stopCount)
        }
        if vehicle.lastLocation.place != nil, visibility.shows(config.vehicleLocationVisibility) {
            info.vehicleLocation = LocationRules.shared(vehicle.lastLocation)
        }
    }

    /// The line of the way to the stop behind those of other recipients.
    ///
    /// It passes their stops at rough places, and has no other point so near to these that it would tell a door.
    private static func line(of way: DeliveryWay, past others: [LatLng]) -> [LatLng] {
        var line: [LatLng] = []
        for (index, leg) in way.legs[...others.count].enumerated() {
            guard let start = leg.path.first, let end = leg.path.last else { continue }
            let near = others[max(0, index - 1)..<min(index + 1, others.count)]
            let between = leg.path.dropFirst().dropLast().filter { point in
                near.allSatisfy { $0.meters(to: point) > LatLng.roughMeters }
            }
            let first = index == 0 ? start : others[index - 1]
            let last = index == others.count ? end : others[index]
            let points = [first] + between + [last]
            line += line.last == first ? points.dropFirst() : points[...]
        }
        return line
    }

    /// How long the tasks of a stop take up to and with one of them.
    private static func service(upTo task: String, at stop: Int, of vehicle: DeliveryVehicle) -> Duration {
        let tasks = vehicle.remainingVehicleJourneySegments[stop].stop.tasks
        let last = tasks.firstIndex { $0.taskID == task } ?? 0
        return tasks.prefix(last + 1).reduce(.zero) { $0 + Duration($1.taskDuration) }
    }
}
