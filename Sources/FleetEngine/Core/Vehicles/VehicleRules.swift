// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// What creating and updating a vehicle does to it; values in, values out.
enum VehicleRules {
    /// Makes a vehicle from the body of its creation.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    static func create(
        _ body: Vehicle, name: ResourceName, at now: Google_Protobuf_Timestamp
    ) throws(EngineError) -> Vehicle {
        let selection = try VehicleFields.table.select(.with { $0.paths = VehicleFields.onCreation })
        var vehicle = Vehicle()
        vehicle.name = name.description
        return try self.update(vehicle, with: body, selection: selection, tripTypes: [:], at: now)
    }

    /// Applies an update.
    ///
    /// - Parameters:
    ///   - vehicle: The vehicle as it is stored.
    ///   - body: The vehicle in the request, of which only the selected fields count.
    ///   - selection: The fields that the update mask names.
    ///   - tripTypes: The types of the vehicle's trips, by id; needed where waypoints are reordered.
    ///   - now: The time of the call.
    /// - Returns: The vehicle as it is to be stored.
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    static func update(
        _ vehicle: Vehicle, with body: Vehicle, selection: FieldSelection<Vehicle>, tripTypes: [String: TripType],
        at now: Google_Protobuf_Timestamp
    ) throws(EngineError) -> Vehicle {
        var updated = try selection.patching(vehicle, with: body)
        try self.check(updated, selection)
        if selection.touches("waypoints") {
            // The plan changes first: it may drop the reported way, and the same update may bring a new one.
            let order = try Itinerary.order(
                vehicle.waypoints, as: updated.waypoints, tripTypes: tripTypes, field: "waypoints"
            )
            var planned = vehicle
            Itinerary.replace(order, in: &planned, at: now)
            updated = try selection.patching(planned, with: body)
            updated.waypoints = order
            try self.apply(to: &updated, from: planned, selection, at: now)
        } else {
            try self.apply(to: &updated, from: vehicle, selection, at: now)
        }
        return updated
    }

    /// Whether an update is a report only, from what it names: after it the vehicle `differsByReportOnly(from:)` before.
    static func isReport(_ updated: Vehicle, of vehicle: Vehicle, _ selection: FieldSelection<Vehicle>) -> Bool {
        let isReport = selection.isWithin(self.reported) && updated.vehicleState == vehicle.vehicleState
        assert(!isReport || updated.differsByReportOnly(from: vehicle))
        return isReport
    }

    /// The fields that reports name, of which those that are not stored change others or nothing.
    private static let reported: Set = [
        "last_location", "vehicle_state", "remaining_distance_meters", "eta_to_first_waypoint",
        "remaining_time_seconds", "past_locations", "device_settings",
    ]

    /// Applies what the fields of an update lead to.
    private static func apply(
        to updated: inout Vehicle, from vehicle: Vehicle, _ selection: FieldSelection<Vehicle>,
        at now: Google_Protobuf_Timestamp
    ) throws(EngineError) {
        if selection.touches("attributes") {
            updated.attributes = try AttributeRules.accept(updated.attributes)
        }
        let current = try self.locate(&updated, from: vehicle, selection, at: now)
        self.applyRoute(&updated, from: vehicle, current, at: now)
        updated.pastLocations = []
        updated.clearDeviceSettings()
        updated.clearRemainingTimeSeconds()
    }

    /// Applies the reported location.
    ///
    /// - Returns: The fields that count: those of the moment do not where the location is older than the stored one.
    private static func locate(
        _ vehicle: inout Vehicle, from stored: Vehicle, _ selection: FieldSelection<Vehicle>,
        at now: Google_Protobuf_Timestamp
    ) throws(EngineError) -> FieldSelection<Vehicle> {
        guard selection.touches("last_location"), vehicle.hasLastLocation else { return selection }
        selection.preferReported(in: &vehicle.lastLocation)
        let accepted = try LocationRules.accept(
            vehicle.lastLocation, over: stored.hasLastLocation ? stored.lastLocation : nil,
            isFix: selection.tellsPosition, at: now
        )
        guard let accepted else { return selection.undoing(VehicleFields.ofTheMoment, in: &vehicle, to: stored) }
        vehicle.lastLocation = accepted
        return selection
    }

    /// Applies what the driver reports of its way to the first waypoint.
    private static func applyRoute(
        _ vehicle: inout Vehicle, from stored: Vehicle, _ selection: FieldSelection<Vehicle>,
        at now: Google_Protobuf_Timestamp
    ) {
        if selection.touches("remaining_time_seconds"), vehicle.hasRemainingTimeSeconds {
            vehicle.etaToFirstWaypoint = now.advanced(by: .seconds(vehicle.remainingTimeSeconds.value))
        }
        guard selection.touches("current_route_segment") else {
            // An end point belongs to a segment; alone it is ignored.
            if stored.hasCurrentRouteSegmentEndPoint {
                vehicle.currentRouteSegmentEndPoint = stored.currentRouteSegmentEndPoint
            } else {
                vehicle.clearCurrentRouteSegmentEndPoint()
            }
            return
        }
        vehicle.currentRouteSegmentVersion = .version(after: stored.currentRouteSegmentVersion, at: now)
        let named = selection.touches("current_route_segment_end_point") && vehicle.hasCurrentRouteSegmentEndPoint
        if vehicle.currentRouteSegment.isEmpty {
            vehicle.clearCurrentRouteSegmentEndPoint()
        } else if named {
            vehicle.currentRouteSegmentEndPoint = Itinerary.recognise(
                vehicle.currentRouteSegmentEndPoint, among: vehicle.waypoints
            )
        } else if let first = vehicle.waypoints.first {
            vehicle.currentRouteSegmentEndPoint = first
        } else {
            vehicle.clearCurrentRouteSegmentEndPoint()
        }
    }
}

// MARK: - Checks

extension VehicleRules {
    private static func check(_ vehicle: Vehicle, _ selection: FieldSelection<Vehicle>) throws(EngineError) {
        func require(_ holds: @autoclosure () -> Bool, _ field: String, _ problem: String) throws(EngineError) {
            if selection.touches(field), !holds() { throw .invalidArgument("\(field) \(problem).", field: field) }
        }
        try require(
            vehicle.vehicleState == .online || vehicle.vehicleState == .offline, "vehicle_state",
            "must be ONLINE or OFFLINE"
        )
        try require(
            !vehicle.supportedTripTypes.isEmpty
                && vehicle.supportedTripTypes.allSatisfy { $0 == .shared || $0 == .exclusive },
            "supported_trip_types", "must list SHARED, EXCLUSIVE or both"
        )
        try require(vehicle.maximumCapacity >= 1, "maximum_capacity", "must be at least 1, the driver not counted")
        try require(
            Vehicle.VehicleType.Category.allCases.dropFirst().contains(vehicle.vehicleType.category), "vehicle_type",
            "needs a category other than UNKNOWN"
        )
        try require(
            self.isValid(vehicle.deviceSettings), "device_settings", "has a battery_percentage outside 0 to 100")
        try require(
            Maps_Fleetengine_V1_NavigationStatus.allCases.contains(vehicle.navigationStatus), "navigation_status",
            "is not a known status"
        )
        try require(
            vehicle.remainingDistanceMeters.value >= 0, "remaining_distance_meters", "must not be negative"
        )
        try require(vehicle.remainingTimeSeconds.value >= 0, "remaining_time_seconds", "must not be negative")
        if vehicle.hasLicensePlate {
            let plate = vehicle.licensePlate
            try require(
                plate.countryCode.utf8.count == 2 && plate.countryCode.allSatisfy { $0.isASCII && $0.isLetter },
                "license_plate", "needs the country_code, two letters"
            )
            try require(
                ["", "-1"].contains(plate.lastCharacter)
                    || plate.lastCharacter.count == 1 && plate.lastCharacter.allSatisfy { $0.isASCII && $0.isNumber },
                "license_plate", "has a last_character other than one digit or \"-1\""
            )
        }
        try vehicle.etaToFirstWaypoint.check("eta_to_first_waypoint")
        if selection.touches("current_route_segment_end_point"), vehicle.currentRouteSegmentEndPoint.hasLocation {
            try vehicle.currentRouteSegmentEndPoint.location.point.check("current_route_segment_end_point.location")
        }
        // None are stored, so these are all of the update.
        for (index, location) in vehicle.pastLocations.enumerated() {
            try LocationRules.check(location, at: "past_locations[\(index)]")
        }
    }

    private static func isValid(_ settings: Maps_Fleetengine_V1_DeviceSettings) -> Bool {
        (0...100).contains(settings.batteryInfo.batteryPercentage)
    }
}
