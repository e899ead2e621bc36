// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

extension Maps_Fleetengine_V1_CreateVehicleRequest: HeaderedRequest {
    var deviations: DeviationSet {
        var found = self.vehicle.deprecations
        if self.vehicle.vehicleState == .online, !self.vehicle.hasLastLocation { found.insert(.onlineWithoutLocation) }
        let isOutputSet =
            !self.vehicle.currentTrips.isEmpty || self.vehicle.hasWaypointsVersion
            || self.vehicle.hasCurrentRouteSegmentVersion || self.vehicle.lastLocation.hasServerTime
        if isOutputSet { found.insert(.outputOnlyField) }
        return found
    }
}

extension Maps_Fleetengine_V1_UpdateVehicleRequest: HeaderedRequest {
    var deviations: DeviationSet {
        // Callers send whole vehicles that they read before; what the mask does not name means nothing.
        let (mask, vehicle) = (self.updateMask, self.vehicle)
        let isLocated = vehicle.hasLastLocation && mask.names("last_location", "lastLocation")
        let isDeprecated =
            (isLocated && vehicle.lastLocation.isDeprecated)
            || (!vehicle.route.isEmpty && mask.names("route", "route"))
            || (vehicle.attributes.contains(where: \.isLegacy) && mask.names("attributes", "attributes"))
        var found: DeviationSet = isDeprecated ? [.deprecatedField] : []
        if isLocated, vehicle.lastLocation.hasServerTime { found.insert(.outputOnlyField) }
        return found
    }

    var report: LocationReport? {
        LocationReport(
            of: self.vehicle.lastLocation, masked: self.updateMask.paths,
            isLast: self.vehicle.vehicleState == .offline)
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
        self.pickupPoint.isDeprecated || self.dropoffPoint.isDeprecated ? [.deprecatedField] : []
    }
}

extension Maps_Fleetengine_V1_CreateTripRequest: HeaderedRequest {
    var deviations: DeviationSet {
        let isDeprecated =
            self.trip.pickupPoint.isDeprecated || self.trip.dropoffPoint.isDeprecated
            || self.trip.intermediateDestinations.contains(where: \.isDeprecated)
        var found: DeviationSet = isDeprecated ? [.deprecatedField] : []
        let isOutputSet =
            self.trip.hasPickupTime || self.trip.hasDropoffTime || self.trip.hasLastLocation
            || !self.trip.remainingWaypoints.isEmpty || self.trip.hasEtaToFirstWaypoint
        if isOutputSet { found.insert(.outputOnlyField) }
        return found
    }
}

extension Maps_Fleetengine_V1_UpdateTripRequest: HeaderedRequest {
    var deviations: DeviationSet {
        // Callers send whole trips that they read before; what the mask does not name means nothing.
        let (mask, trip) = (self.updateMask, self.trip)
        let isDeprecated =
            (trip.pickupPoint.isDeprecated && mask.names("pickup_point", "pickupPoint"))
            || (trip.dropoffPoint.isDeprecated && mask.names("dropoff_point", "dropoffPoint"))
            || (trip.intermediateDestinations.contains(where: \.isDeprecated)
                && mask.names("intermediate_destinations", "intermediateDestinations"))
        return isDeprecated ? [.deprecatedField] : []
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
    /// Whether a path is a field, in either spelling, or a part of it.
    func names(_ field: String, _ alternative: String) -> Bool {
        self.paths.contains { path in
            [field, alternative].contains { path == $0 || path.hasPrefix($0 + ".") }
        }
    }
}

extension LocationReport {
    /// What an update of a vehicle says; `nil` where it is about something else.
    init?(of location: some ReportedLocation, masked paths: [String], isLast: Bool) {
        func names(_ path: String, _ field: String, _ alternative: String) -> Bool {
            path.hasPrefix(field) || path.hasPrefix(alternative)
        }
        let isLocated = paths.contains { names($0, "last_location", "lastLocation") }
        let isLast = isLast && paths.contains { names($0, "vehicle_state", "vehicleState") }
        guard isLocated || isLast else { return nil }
        self.isLocated = isLocated
        self.isOfDevice = isLocated && (location.hasLocation || location.hasRawLocation)
        self.isLast = isLast
    }
}

extension Vehicle {
    fileprivate var deprecations: DeviationSet {
        let isDeprecated =
            !self.route.isEmpty || (self.hasLastLocation && self.lastLocation.isDeprecated)
            || self.attributes.contains(where: \.isLegacy)
        return isDeprecated ? [.deprecatedField] : []
    }
}

extension Maps_Fleetengine_V1_VehicleAttribute {
    /// Whether the value is in the field that string_value replaces.
    fileprivate var isLegacy: Bool { !self.value.isEmpty && self.vehicleAttributeValue == nil }
}

extension TerminalLocation {
    fileprivate var isDeprecated: Bool {
        self.hasTerminalPointID || !self.accessPointID.isEmpty || !self.tripID.isEmpty
    }
}

extension ReportedLocation {
    /// Whether a field is set that another has replaced.
    var isDeprecated: Bool {
        self.hasHorizontalAccuracy || self.hasBearingAccuracy || self.hasVerticalAccuracy || self.hasSpeedKmph
            || self.roadSnapped
    }
}
