// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

extension Maps_Fleetengine_V1_CreateVehicleRequest: HeaderedRequest {
    var deviations: DeviationSet {
        let vehicle = self.vehicle
        let isDeprecated = !vehicle.route.isEmpty || vehicle.attributes.contains(where: \.isLegacy)
        var found: DeviationSet = isDeprecated ? [.deprecatedField] : []
        found.formUnion(vehicle.lastLocation.deviations())
        found.formUnion(vehicle.pastLocations.deviations)
        if vehicle.vehicleState == .online, !vehicle.hasLastLocation || vehicle.lastLocation == VehicleLocation() {
            found.insert(.onlineWithoutLocation)
        }
        let isOutputSet =
            !vehicle.currentTrips.isEmpty || vehicle.hasWaypointsVersion || vehicle.hasCurrentRouteSegmentVersion
        if isOutputSet { found.insert(.outputOnlyField) }
        return found
    }
}

extension Maps_Fleetengine_V1_UpdateVehicleRequest: HeaderedRequest {
    var deviations: DeviationSet {
        // Callers send whole vehicles that they read before; what the mask does not name means nothing.
        let (mask, vehicle) = (self.updateMask, self.vehicle)
        let isDeprecated =
            (!vehicle.route.isEmpty && mask.names("route"))
            || (vehicle.attributes.contains(where: \.isLegacy) && mask.names("attributes"))
        var found: DeviationSet = isDeprecated ? [.deprecatedField] : []
        found.formUnion(vehicle.lastLocation.deviations { mask.names("last_location.\($0)") })
        if mask.names("past_locations") { found.formUnion(vehicle.pastLocations.deviations) }
        return found
    }

    var report: LocationReport? {
        LocationReport(
            of: self.vehicle.lastLocation, masked: self.updateMask, isLast: self.vehicle.vehicleState == .offline)
    }
}

extension Maps_Fleetengine_V1_UpdateVehicleAttributesRequest: HeaderedRequest {
    var deviations: DeviationSet { self.attributes.contains(where: \.isLegacy) ? [.deprecatedField] : [] }
}

extension Maps_Fleetengine_V1_ListVehiclesRequest: HeaderedRequest {
    var deviations: DeviationSet { self.vehicleTypeCategories.isEmpty ? [.listWithoutVehicleTypes] : [] }
}

extension Maps_Fleetengine_V1_SearchVehiclesRequest: HeaderedRequest {
    var deviations: DeviationSet {
        self.pickupPoint.isDeprecated() || self.dropoffPoint.isDeprecated() ? [.deprecatedField] : []
    }
}

extension Maps_Fleetengine_V1_CreateTripRequest: HeaderedRequest {
    var deviations: DeviationSet {
        let trip = self.trip
        var found: DeviationSet = trip.isDeprecated() ? [.deprecatedField] : []
        if TripFields.outputOnly.contains(where: { $0.isSet(trip) }) { found.insert(.outputOnlyField) }
        return found
    }
}

extension Maps_Fleetengine_V1_UpdateTripRequest: HeaderedRequest {
    var deviations: DeviationSet {
        // Callers send whole trips that they read before; what the mask does not name means nothing.
        let mask = self.updateMask
        return self.trip.isDeprecated { mask.names($0) } ? [.deprecatedField] : []
    }
}

extension Maps_Fleetengine_V1_GetTripRequest: HeaderedRequest {
    var deviations: DeviationSet { self.hasRemainingWaypointsVersion ? [.deprecatedField] : [] }
}

extension Maps_Fleetengine_V1_GetVehicleRequest: HeaderedRequest {}
extension Maps_Fleetengine_V1_DeleteVehicleRequest: HeaderedRequest {}
extension Maps_Fleetengine_V1_DeleteTripRequest: HeaderedRequest {}
extension Maps_Fleetengine_V1_SearchTripsRequest: HeaderedRequest {}
// The only request without a header.
extension Maps_Fleetengine_V1_ReportBillableTripRequest: DocumentedRequest {}

extension Google_Protobuf_FieldMask {
    /// Whether a path, in either spelling, is a field, a part of it, or what it is a part of; none is looked at in a mask
    /// that is refused for its length.
    func names(_ field: String) -> Bool {
        !self.isTooLong && self.paths.contains { FieldName.meets($0, field) }
    }
}

extension LocationReport {
    /// What an update of a vehicle says; `nil` where it is about something else.
    init?(of location: some ReportedLocation, masked mask: Google_Protobuf_FieldMask, isLast: Bool) {
        let isLocated = mask.names("last_location")
        let isLast = isLast && mask.names("vehicle_state")
        guard isLocated || isLast else { return nil }
        self.isLocated = isLocated
        self.isOfDevice =
            (location.hasLocation && mask.names("last_location.location"))
            || (location.hasRawLocation && mask.names("last_location.raw_location"))
        self.isLast = isLast
    }
}

extension Trip {
    /// Whether a deprecated field is set, of those that are named.
    fileprivate func isDeprecated(where isNamed: (String) -> Bool = { _ in true }) -> Bool {
        let places = [("pickup_point", self.pickupPoint), ("dropoff_point", self.dropoffPoint)]
        let stops = [
            ("actual_pickup_point", self.actualPickupPoint),
            ("actual_pickup_arrival_point", self.actualPickupArrivalPoint),
            ("actual_dropoff_point", self.actualDropoffPoint),
        ]
        let lists = [
            ("actual_intermediate_destinations", self.actualIntermediateDestinations),
            ("actual_intermediate_destination_arrival_points", self.actualIntermediateDestinationArrivalPoints),
        ]
        for (name, place) in places where place.isDeprecated(where: { isNamed("\(name).\($0)") }) { return true }
        for (name, stop) in stops where stop.hasStopTime && isNamed("\(name).stop_time") { return true }
        for (name, stops) in lists where stops.contains(where: \.hasStopTime) && isNamed(name) { return true }
        return self.intermediateDestinations.contains { $0.isDeprecated() } && isNamed("intermediate_destinations")
    }
}

extension Maps_Fleetengine_V1_VehicleAttribute {
    /// Whether the value is in the field that string_value replaces.
    fileprivate var isLegacy: Bool { !self.value.isEmpty && self.vehicleAttributeValue == nil }
}

extension TerminalLocation {
    /// Whether a deprecated field is set, of those that are named.
    fileprivate func isDeprecated(where isNamed: (String) -> Bool = { _ in true }) -> Bool {
        (self.hasTerminalPointID && isNamed("terminal_point_id"))
            || (!self.accessPointID.isEmpty && isNamed("access_point_id"))
            || (!self.tripID.isEmpty && isNamed("trip_id"))
            || (self.terminalLocationType != .unknownWaypointType && isNamed("terminal_location_type"))
    }
}

extension ReportedLocation {
    /// What departs from the documentation in the fields that are named.
    func deviations(where isNamed: (String) -> Bool = { _ in true }) -> DeviationSet {
        let isDeprecated =
            (self.hasHorizontalAccuracy && isNamed("horizontal_accuracy"))
            || (self.hasBearingAccuracy && isNamed("bearing_accuracy"))
            || (self.hasVerticalAccuracy && isNamed("vertical_accuracy"))
            || (self.hasSpeedKmph && isNamed("speed_kmph")) || (self.roadSnapped && isNamed("road_snapped"))
            || (self.hasNumStaleUpdates && isNamed("num_stale_updates"))
        var found: DeviationSet = isDeprecated ? [.deprecatedField] : []
        if self.hasServerTime, isNamed("server_time") { found.insert(.outputOnlyField) }
        return found
    }
}

extension Array where Element: ReportedLocation {
    /// What departs from the documentation in any of the locations.
    var deviations: DeviationSet { self.reduce(into: []) { $0.formUnion($1.deviations()) } }
}
