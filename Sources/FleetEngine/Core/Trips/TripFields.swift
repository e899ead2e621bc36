// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI

/// The fields of a trip as update masks see them.
enum TripFields {
    static let table = FieldTable<Trip>(
        writable: [
            .value("vehicle_id", \.vehicleID),
            .value("trip_status", \.tripStatus),
            .message("pickup_point", \.pickupPoint, isSet: \.hasPickupPoint) { $0.clearPickupPoint() },
            .message("dropoff_point", \.dropoffPoint, isSet: \.hasDropoffPoint) { $0.clearDropoffPoint() },
            .value("intermediate_destinations", \.intermediateDestinations),
            // A precondition that is read from the body whether or not the mask names it.
            .ignored("intermediate_destinations_version"),
            .value("intermediate_destination_index", \.intermediateDestinationIndex),
            .value("vehicle_waypoints", \.vehicleWaypoints),
            .message("actual_pickup_point", \.actualPickupPoint, isSet: \.hasActualPickupPoint) {
                $0.clearActualPickupPoint()
            },
            .message("actual_pickup_arrival_point", \.actualPickupArrivalPoint, isSet: \.hasActualPickupArrivalPoint) {
                $0.clearActualPickupArrivalPoint()
            },
            .value(
                "actual_intermediate_destination_arrival_points", \.actualIntermediateDestinationArrivalPoints),
            .value("actual_intermediate_destinations", \.actualIntermediateDestinations),
            .message("actual_dropoff_point", \.actualDropoffPoint, isSet: \.hasActualDropoffPoint) {
                $0.clearActualDropoffPoint()
            },
            .value("attributes", \.attributes),
        ],
        immutable: ["name", "trip_type", "number_of_passengers"],
        outputOnly: [
            "pickup_time", "dropoff_time", "route", "current_route_segment", "current_route_segment_version",
            "current_route_segment_traffic", "current_route_segment_traffic_version", "current_route_segment_end_point",
            "remaining_waypoints", "remaining_waypoints_version", "remaining_waypoints_route_version",
            "remaining_distance_meters", "eta_to_first_waypoint", "remaining_time_to_first_waypoint", "last_location",
            "last_location_snappable", "view",
        ]
    )
}
