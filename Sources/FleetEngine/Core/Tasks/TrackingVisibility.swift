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
            config.routePolylinePointsVisibility, config.estimatedArrivalTimeVisibility,
            config.estimatedTaskCompletionTimeVisibility, config.remainingDrivingDistanceVisibility,
            config.remainingStopCountVisibility, config.vehicleLocationVisibility,
        ]
        for option in options {
            switch option.visibilityOption {
            case .always(false), .never(false):
                throw self.invalid("has an always or never that is false; leave it out")
            case .remainingStopCountThreshold(let threshold) where threshold < 0,
                .remainingDrivingDistanceMetersThreshold(let threshold) where threshold < 0:
                throw self.invalid("has a threshold below 0")
            case .durationUntilEstimatedArrivalTimeThreshold(let threshold):
                try threshold.check("task_tracking_view_config")
            default: break
            }
        }
    }

    private static func invalid(_ problem: String) -> EngineError {
        .invalidArgument("task_tracking_view_config \(problem).", field: "task_tracking_view_config")
    }
}
