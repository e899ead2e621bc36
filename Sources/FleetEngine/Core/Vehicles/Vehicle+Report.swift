// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI

/// What a driver's reports change of a vehicle every few seconds, and what stays.
extension Vehicle {
    /// The numbers of the fields that are others after each report: `last_location`, `remaining_distance_meters` and
    /// `eta_to_first_waypoint`.
    static let reportedFields = [5, 18, 19]

    /// The vehicle without these.
    var unreported: Vehicle {
        var vehicle = self
        vehicle.clearLastLocation()
        vehicle.clearRemainingDistanceMeters()
        vehicle.clearEtaToFirstWaypoint()
        return vehicle
    }

    /// Whether every other field is the same instance as that of another vehicle, as after a report for it.
    ///
    /// That is soon told, and takes texts that are spelled with other bytes for others. A vehicle that was read from a store
    /// is never the same instance as before.
    func differsByReportOnly(from other: Vehicle) -> Bool {
        func agree(_ isSet: Bool, _ isOtherSet: Bool, _ isSame: @autoclosure () -> Bool) -> Bool {
            isSet == isOtherSet && (!isSet || isSame())
        }
        return self.vehicleState == other.vehicleState
            && self.maximumCapacity == other.maximumCapacity
            && self.backToBackEnabled == other.backToBackEnabled
            && self.navigationStatus == other.navigationStatus
            && isSameInstance(self.name, other.name)
            && isSameInstance(self.supportedTripTypes, other.supportedTripTypes)
            && isSameInstance(self.currentTrips, other.currentTrips)
            && isSameInstance(self.pastLocations, other.pastLocations)
            && isSameInstance(self.attributes, other.attributes)
            && isSameInstance(self.route, other.route)
            && isSameInstance(self.currentRouteSegment, other.currentRouteSegment)
            && isSameInstance(self.waypoints, other.waypoints)
            && isSameInstance(self.unknownFields, other.unknownFields)
            && agree(self.hasVehicleType, other.hasVehicleType, self.vehicleType == other.vehicleType)
            && agree(
                self.hasLicensePlate, other.hasLicensePlate, isSameInstance(self.licensePlate, other.licensePlate))
            && agree(
                self.hasCurrentRouteSegmentVersion, other.hasCurrentRouteSegmentVersion,
                self.currentRouteSegmentVersion == other.currentRouteSegmentVersion)
            && agree(
                self.hasCurrentRouteSegmentEndPoint, other.hasCurrentRouteSegmentEndPoint,
                isSameInstance(self.currentRouteSegmentEndPoint, other.currentRouteSegmentEndPoint))
            && agree(
                self.hasWaypointsVersion, other.hasWaypointsVersion, self.waypointsVersion == other.waypointsVersion)
            && !self.holdsUnstored && !other.holdsUnstored
    }

    /// Whether it has what no stored vehicle has.
    private var holdsUnstored: Bool {
        self.hasCurrentRouteSegmentTraffic || self.hasRemainingTimeSeconds || self.hasDeviceSettings
    }
}
