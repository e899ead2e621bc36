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
        outputOnly: Self.outputOnly.map(\.name)
    )

    /// The fields that are the service's own, and whether a request sets them.
    static let outputOnly: [(name: String, isSet: @Sendable (Trip) -> Bool)] = [
        ("pickup_time", { $0.hasPickupTime }),
        ("dropoff_time", { $0.hasDropoffTime }),
        ("route", { !$0.route.isEmpty }),
        ("current_route_segment", { !$0.currentRouteSegment.isEmpty }),
        ("current_route_segment_version", { $0.hasCurrentRouteSegmentVersion }),
        ("current_route_segment_traffic", { $0.hasCurrentRouteSegmentTraffic }),
        ("current_route_segment_traffic_version", { $0.hasCurrentRouteSegmentTrafficVersion }),
        ("current_route_segment_end_point", { $0.hasCurrentRouteSegmentEndPoint }),
        ("remaining_waypoints", { !$0.remainingWaypoints.isEmpty }),
        ("remaining_waypoints_version", { $0.hasRemainingWaypointsVersion }),
        ("remaining_waypoints_route_version", { $0.hasRemainingWaypointsRouteVersion }),
        ("remaining_distance_meters", { $0.hasRemainingDistanceMeters }),
        ("eta_to_first_waypoint", { $0.hasEtaToFirstWaypoint }),
        ("remaining_time_to_first_waypoint", { $0.hasRemainingTimeToFirstWaypoint }),
        ("last_location", { $0.hasLastLocation }),
        ("last_location_snappable", { $0.lastLocationSnappable }),
        ("view", { $0.view != .unspecified }),
    ]
}
