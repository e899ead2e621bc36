// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

/// The engine's `TaskTrackingInfo` message, as far as a shipment model reads it; proto3 JSON leaves out zeros and empty
/// values, and the engine what is not shown.
struct TrackingMessage: Decodable {
    struct Window: Decodable {
        var startTime: String?
        var endTime: String?
    }

    /// What all tracking information has; an answer without it is a failure, as that of a trip is.
    let name: String
    var state: String?
    var taskOutcome: String?
    var taskOutcomeTime: String?
    var plannedLocation: TripMessage.Place?
    var targetTimeWindow: Window?
    var vehicleLocation: TripMessage.Location?
    var remainingStopCount: Int?
    var remainingDrivingDistanceMeters: Int?
    var estimatedArrivalTime: String?
    var estimatedTaskCompletionTime: String?
    var routePolylinePoints: [TripMessage.Point]?

    /// The snapshot after this answer; nothing of an earlier one is kept, because it may not be shown any more.
    func snapshot(of tracking: TrackingID) -> ShipmentSnapshot {
        ShipmentSnapshot(
            tracking: tracking,
            state: ShipmentState(rawValue: self.state ?? ShipmentState.unknown.rawValue),
            outcome: self.taskOutcome.flatMap { $0 == Self.noOutcome ? nil : ShipmentOutcome(rawValue: $0) },
            outcomeTime: self.taskOutcomeTime.flatMap { RFC3339.date($0) },
            plannedPoint: self.plannedLocation?.point?.point,
            timeWindow: self.targetTimeWindow?.interval,
            vehiclePosition: self.vehicleLocation?.position,
            remainingStopCount: self.remainingStopCount,
            remainingDistanceMeters: self.remainingDrivingDistanceMeters,
            estimatedArrival: self.estimatedArrivalTime.flatMap { RFC3339.date($0) },
            estimatedCompletion: self.estimatedTaskCompletionTime.flatMap { RFC3339.date($0) },
            route: (self.routePolylinePoints ?? []).map(\.point)
        )
    }

    private static let noOutcome = "TASK_OUTCOME_UNSPECIFIED"
}

extension TrackingMessage.Window {
    fileprivate var interval: DateInterval? {
        guard let start = self.startTime.flatMap({ RFC3339.date($0) }),
            let end = self.endTime.flatMap({ RFC3339.date($0) }), end >= start
        else { return nil }
        return DateInterval(start: start, end: end)
    }
}
