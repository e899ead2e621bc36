// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf

/// A task as responses show it: what was stored, and what follows from its vehicle at the time of reading.
enum TaskView {
    /// The task with the way of its vehicle up to it, as long as it is open.
    ///
    /// - Parameters:
    ///   - task: The task as it is stored.
    ///   - id: The task's id.
    ///   - vehicle: The vehicle that the task is assigned to.
    ///   - showingStops: Whether the stops on the way and its line are told, or only how far it is.
    ///   - context: The time of reading.
    /// - Returns: The task as the response shows it.
    static func show(
        _ task: DeliveryTask, id: String, vehicle: DeliveryVehicle?, showingStops: Bool, context: CallContext
    ) -> DeliveryTask {
        guard task.state == .open, let vehicle, let last = Journey(of: vehicle).stop(of: id) else { return task }
        var shown = task
        shown.journeySharingInfo = .with { info in
            info.remainingVehicleJourneySegments = DeliveryVehicleView.segments(vehicle, upTo: last, context: context)
            if !showingStops {
                for index in info.remainingVehicleJourneySegments.indices {
                    info.remainingVehicleJourneySegments[index].clearStop()
                    // The line leads from one stop to the next.
                    info.remainingVehicleJourneySegments[index].path = []
                }
            }
            guard vehicle.lastLocation.place != nil else { return }
            info.lastLocation = vehicle.lastLocation
            info.lastLocationSnappable = !vehicle.currentRouteSegment.isEmpty
        }
        return shown
    }
}
