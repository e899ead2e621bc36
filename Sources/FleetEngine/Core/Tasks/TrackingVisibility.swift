// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf

/// When a part of a vehicle's way is shown to the recipient of a shipment.
struct TrackingVisibility {
    typealias Option = TaskTrackingViewConfig.VisibilityOption

    /// What a task without a configuration of its own shows: everything, on the last five stops.
    static let standard = Option.with { $0.remainingStopCountThreshold = 5 }

    /// How many stops are left; 1 is the next one.
    let stopCount: Int32
    /// How long the vehicle takes from where it is shown, as far as that is known.
    let duration: Duration?
    /// How far the vehicle has to go, as it is told, as far as that is known.
    let meters: Int32?

    /// Whether an option, or the standard in place of an empty one, shows its part now.
    ///
    /// What is not known passes no threshold.
    func shows(_ option: Option) -> Bool {
        switch option.visibilityOption ?? Self.standard.visibilityOption {
        case .remainingStopCountThreshold(let threshold): self.stopCount <= threshold
        case .durationUntilEstimatedArrivalTimeThreshold(let threshold):
            self.duration.map { $0 <= Duration(threshold) } ?? false
        case .remainingDrivingDistanceMetersThreshold(let threshold):
            self.meters.map { $0 <= threshold } ?? false
        case .always: true
        case .never, nil: false
        }
    }

    /// Checks the options of a task.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    static func check(_ config: TaskTrackingViewConfig) throws(EngineError) {
        let options = [
            ("route_polyline_points", config.routePolylinePointsVisibility),
            ("estimated_arrival_time", config.estimatedArrivalTimeVisibility),
            ("estimated_task_completion_time", config.estimatedTaskCompletionTimeVisibility),
            ("remaining_driving_distance", config.remainingDrivingDistanceVisibility),
            ("remaining_stop_count", config.remainingStopCountVisibility),
            ("vehicle_location", config.vehicleLocationVisibility),
        ]
        for (part, option) in options {
            do throws(EngineError) {
                try self.check(option)
            } catch {
                throw error.within("task_tracking_view_config.\(part)_visibility")
            }
        }
    }

    private static func check(_ option: Option) throws(EngineError) {
        func refuse(_ field: String, _ problem: String) throws(EngineError) {
            throw .invalidArgument("\(field) \(problem).", field: field)
        }
        switch option.visibilityOption {
        case .always(false): try refuse("always", "is false; leave it out")
        case .never(false): try refuse("never", "is false; leave it out")
        case .remainingStopCountThreshold(let threshold) where threshold < 0:
            try refuse("remaining_stop_count_threshold", "is below 0")
        case .remainingDrivingDistanceMetersThreshold(let threshold) where threshold < 0:
            try refuse("remaining_driving_distance_meters_threshold", "is below 0")
        case .durationUntilEstimatedArrivalTimeThreshold(let threshold):
            try threshold.check("duration_until_estimated_arrival_time_threshold")
        default: break
        }
    }
}
