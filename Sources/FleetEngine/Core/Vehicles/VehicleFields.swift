// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI

/// The fields of a vehicle as update masks see them.
enum VehicleFields {
    static let table = FieldTable<Vehicle>(
        writable: [
            .value("vehicle_state", \.vehicleState),
            .value("supported_trip_types", \.supportedTripTypes),
            .message("last_location", \.lastLocation, isSet: \.hasLastLocation) { $0.clearLastLocation() },
            .value("past_locations", \.pastLocations),
            .value("maximum_capacity", \.maximumCapacity),
            .value("attributes", \.attributes),
            .message("vehicle_type", \.vehicleType, isSet: \.hasVehicleType) { $0.clearVehicleType() },
            .message("license_plate", \.licensePlate, isSet: \.hasLicensePlate) { $0.clearLicensePlate() },
            .ignored("route"),
            .value("current_route_segment", \.currentRouteSegment),
            .ignored("current_route_segment_traffic"),
            .message(
                "current_route_segment_end_point", \.currentRouteSegmentEndPoint,
                isSet: \.hasCurrentRouteSegmentEndPoint
            ) { $0.clearCurrentRouteSegmentEndPoint() },
            .message("remaining_distance_meters", \.remainingDistanceMeters, isSet: \.hasRemainingDistanceMeters) {
                $0.clearRemainingDistanceMeters()
            },
            .message("eta_to_first_waypoint", \.etaToFirstWaypoint, isSet: \.hasEtaToFirstWaypoint) {
                $0.clearEtaToFirstWaypoint()
            },
            .message("remaining_time_seconds", \.remainingTimeSeconds, isSet: \.hasRemainingTimeSeconds) {
                $0.clearRemainingTimeSeconds()
            },
            .value("waypoints", \.waypoints),
            .value("back_to_back_enabled", \.backToBackEnabled),
            .value("navigation_status", \.navigationStatus),
            .message("device_settings", \.deviceSettings, isSet: \.hasDeviceSettings) { $0.clearDeviceSettings() },
        ],
        immutable: ["name"],
        outputOnly: ["current_trips", "current_route_segment_version", "waypoints_version"]
    )

    /// The fields that a creation takes from its body; the others are ignored there.
    static let onCreation = [
        "vehicle_state", "supported_trip_types", "last_location", "past_locations", "maximum_capacity", "attributes",
        "vehicle_type", "license_plate", "back_to_back_enabled", "device_settings",
    ]

    /// The fields that tell how things were when the location was taken: where the vehicle was, and its way from there.
    static let ofTheMoment = [
        "last_location", "current_route_segment", "current_route_segment_end_point", "remaining_distance_meters",
        "eta_to_first_waypoint", "remaining_time_seconds", "navigation_status",
    ]
}
