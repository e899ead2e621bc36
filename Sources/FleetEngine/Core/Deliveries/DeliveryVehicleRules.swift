// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// What creating and updating a delivery vehicle does to it; values in, values out.
///
/// The stored `remaining_duration` counts from 1970: it is the time of arrival, which stays as it is while the rest of the
/// way gets shorter. ``DeliveryVehicleView`` turns it back.
enum DeliveryVehicleRules {
    /// Makes a delivery vehicle from the body of its creation.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`, also for what only an update may set.
    static func create(
        _ body: DeliveryVehicle, name: ResourceName, at now: Google_Protobuf_Timestamp
    ) throws(EngineError) -> DeliveryVehicle {
        // A sub-message without content counts as unset: clients were seen sending such.
        let later: [(String, Bool)] = [
            ("past_locations", !body.pastLocations.isEmpty),
            ("navigation_status", body.navigationStatus != .unknownNavigationStatus),
            ("current_route_segment", !body.currentRouteSegment.isEmpty),
            ("current_route_segment_end_point", body.currentRouteSegmentEndPoint != LatLng()),
            ("remaining_distance_meters", body.remainingDistanceMeters != Google_Protobuf_Int32Value()),
            ("remaining_duration", body.remainingDuration != Google_Protobuf_Duration()),
            (DeliveryVehicleFields.segments, !body.remainingVehicleJourneySegments.isEmpty),
        ]
        for (field, isSet) in later where isSet {
            throw .invalidArgument("\(field) cannot be set on creation; update the vehicle afterwards.", field: field)
        }
        var selection = try DeliveryVehicleFields.table.select(.with { $0.paths = DeliveryVehicleFields.onCreation })
        if body.lastLocation == DeliveryVehicleLocation() { selection = selection.without("last_location") }
        var vehicle = DeliveryVehicle()
        vehicle.name = name.description
        return try self.update(vehicle, with: body, selection: selection, firstStop: nil, at: now)
    }

    /// Applies an update, but for the stops.
    ///
    /// - Parameters:
    ///   - vehicle: The vehicle as it is stored.
    ///   - body: The vehicle in the request, of which only the selected fields count.
    ///   - selection: The fields that the update mask names.
    ///   - firstStop: Where the first stop is once the update is made, if there is one.
    ///   - now: The time of the call.
    /// - Returns: The vehicle as it is to be stored.
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    static func update(
        _ vehicle: DeliveryVehicle, with body: DeliveryVehicle, selection: FieldSelection<DeliveryVehicle>,
        firstStop: LatLng?, at now: Google_Protobuf_Timestamp
    ) throws(EngineError) -> DeliveryVehicle {
        var updated = try selection.patching(vehicle, with: body)
        try self.check(updated, selection)
        if updated.type == .unspecified { updated.type = .auto }
        if selection.touches("attributes") { updated.attributes = try AttributeRules.accept(updated.attributes) }
        let current = try self.locate(&updated, from: vehicle, selection, at: now)
        self.applyRoute(&updated, from: vehicle, current, firstStop: firstStop, at: now)
        updated.pastLocations = []
        return updated
    }

    /// Applies the reported location.
    ///
    /// - Returns: The fields that count: those of the moment do not where the location is older than the stored one.
    private static func locate(
        _ vehicle: inout DeliveryVehicle, from stored: DeliveryVehicle, _ selection: FieldSelection<DeliveryVehicle>,
        at now: Google_Protobuf_Timestamp
    ) throws(EngineError) -> FieldSelection<DeliveryVehicle> {
        guard selection.touches("last_location"), vehicle.hasLastLocation else { return selection }
        selection.preferReported(in: &vehicle.lastLocation)
        let accepted = try LocationRules.accept(
            vehicle.lastLocation, over: stored.hasLastLocation ? stored.lastLocation : nil,
            isFix: selection.tellsPosition, at: now
        )
        guard let accepted else {
            return selection.undoing(DeliveryVehicleFields.ofTheMoment, in: &vehicle, to: stored)
        }
        vehicle.lastLocation = accepted
        return selection
    }

    /// Takes the end off a route that led to a stop which is gone, so that it leads to no other one near by.
    ///
    /// What else was reported with it stays, as with the service, and counts for nothing. A route to a stop that moves, or
    /// comes behind others, keeps its end: it counts whenever that is near the first stop.
    ///
    /// - Parameters:
    ///   - vehicle: The vehicle with the stops that it has.
    ///   - journey: The stops that it gets.
    static func endRoute(of vehicle: inout DeliveryVehicle, before journey: Journey) {
        guard vehicle.hasCurrentRouteSegmentEndPoint else { return }
        let end = vehicle.currentRouteSegmentEndPoint
        let tasks = journey.tasks
        let distances = vehicle.remainingVehicleJourneySegments.compactMap { segment -> Double? in
            let (place, its) = (segment.stop.plannedLocation.point, segment.stop.tasks)
            let distance = end.meters(to: place)
            guard distance <= DeliveryWay.reachMeters else { return nil }
            let stays = its.isEmpty ? journey.hasBareStop(at: place) : its.contains { tasks[$0.taskID] != nil }
            return stays ? nil : distance
        }
        guard let distance = distances.min() else { return }
        // One to the next stop may be reported before the stops are.
        if let next = journey.firstPlace, end.meters(to: next) <= distance { return }
        vehicle.clearCurrentRouteSegmentEndPoint()
    }

    /// Applies what the driver reports of its way to the first stop, which holds only along with a route.
    ///
    /// A route that comes without an end leads to the first stop, as on demand; the same one again has the end that it had,
    /// if it still has one.
    private static func applyRoute(
        _ vehicle: inout DeliveryVehicle, from stored: DeliveryVehicle, _ selection: FieldSelection<DeliveryVehicle>,
        firstStop: LatLng?, at now: Google_Protobuf_Timestamp
    ) {
        let isNewRoute = vehicle.currentRouteSegment != stored.currentRouteSegment
        func isStale(_ field: String) -> Bool {
            vehicle.currentRouteSegment.isEmpty || isNewRoute && !selection.touches(field)
        }
        if isStale("current_route_segment_end_point") { vehicle.clearCurrentRouteSegmentEndPoint() }
        if isNewRoute, !selection.touches("current_route_segment_end_point"), !vehicle.currentRouteSegment.isEmpty,
            let firstStop
        {
            vehicle.currentRouteSegmentEndPoint = firstStop
        }
        if isStale("remaining_distance_meters") { vehicle.clearRemainingDistanceMeters() }
        if isStale("remaining_duration") { vehicle.clearRemainingDuration() }
        if selection.touches("remaining_duration"), vehicle.hasRemainingDuration {
            let arrival = now.advanced(by: Duration(vehicle.remainingDuration))
            vehicle.remainingDuration = .with {
                $0.seconds = arrival.seconds
                $0.nanos = arrival.nanos
            }
        }
    }

    private static func check(
        _ vehicle: DeliveryVehicle, _ selection: FieldSelection<DeliveryVehicle>
    ) throws(EngineError) {
        func require(_ holds: Bool, _ field: String, _ problem: String) throws(EngineError) {
            if selection.touches(field), !holds { throw .invalidArgument("\(field) \(problem).", field: field) }
        }
        try require(
            DeliveryVehicle.DeliveryVehicleType.allCases.contains(vehicle.type), "type", "is not a known type"
        )
        try require(
            Maps_Fleetengine_Delivery_V1_DeliveryVehicleNavigationStatus.allCases.contains(vehicle.navigationStatus),
            "navigation_status", "is not a known status"
        )
        try require(vehicle.remainingDistanceMeters.value >= 0, "remaining_distance_meters", "must not be negative")
        if selection.touches("remaining_duration") { try vehicle.remainingDuration.check("remaining_duration") }
        if selection.touches("current_route_segment_end_point") {
            try vehicle.currentRouteSegmentEndPoint.check("current_route_segment_end_point")
        }
        // None are stored, so these are all of the update.
        for (index, location) in vehicle.pastLocations.enumerated() {
            try LocationRules.check(location, at: "past_locations[\(index)]")
        }
    }
}
