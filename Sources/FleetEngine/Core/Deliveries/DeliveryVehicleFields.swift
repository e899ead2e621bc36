// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI

/// The fields of a delivery vehicle as update masks see them.
enum DeliveryVehicleFields {
    static let segments = "remaining_vehicle_journey_segments"

    static let table = FieldTable<DeliveryVehicle>(
        writable: [
            .value("type", \.type),
            .message("last_location", \.lastLocation, isSet: \.hasLastLocation) { $0.clearLastLocation() },
            .value("past_locations", \.pastLocations),
            .value("attributes", \.attributes),
            .value("navigation_status", \.navigationStatus),
            .value("current_route_segment", \.currentRouteSegment),
            .message(
                "current_route_segment_end_point", \.currentRouteSegmentEndPoint,
                isSet: \.hasCurrentRouteSegmentEndPoint
            ) { $0.clearCurrentRouteSegmentEndPoint() },
            .message("remaining_distance_meters", \.remainingDistanceMeters, isSet: \.hasRemainingDistanceMeters) {
                $0.clearRemainingDistanceMeters()
            },
            .message("remaining_duration", \.remainingDuration, isSet: \.hasRemainingDuration) {
                $0.clearRemainingDuration()
            },
            // The stops reach into tasks, so the plan takes them over.
            .ignored(segments),
        ],
        immutable: ["name"],
        outputOnly: []
    )

    /// The fields that a creation takes from its body; it refuses the others.
    static let onCreation = ["type", "last_location", "attributes"]

    /// The fields that tell how things were when the location was taken: where the vehicle was, and its way from there.
    static let ofTheMoment = [
        "last_location", "current_route_segment", "current_route_segment_end_point", "remaining_distance_meters",
        "remaining_duration", "navigation_status",
    ]
}
