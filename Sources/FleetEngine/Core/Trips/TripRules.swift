// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// What creating and updating a trip does to the trip itself; ``TripEffects`` does the rest.
enum TripRules {
    /// The most destinations that a trip has on its way; the engine's own limit.
    private static let maximumDestinations = 500

    /// Makes a trip from the body of its creation; fields that a creation does not take are ignored.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    static func create(
        _ body: Trip, name: ResourceName, at now: Google_Protobuf_Timestamp
    ) throws(EngineError) -> Trip {
        var trip = Trip()
        trip.name = name.description
        trip.tripStatus = .new
        trip.tripType = body.tripType
        trip.vehicleID = body.vehicleID
        trip.numberOfPassengers = body.numberOfPassengers
        if body.hasPickupPoint { trip.pickupPoint = body.pickupPoint }
        if body.hasDropoffPoint { trip.dropoffPoint = body.dropoffPoint }
        trip.intermediateDestinations = body.intermediateDestinations
        if !trip.intermediateDestinations.isEmpty { trip.intermediateDestinationsVersion = now }
        trip.vehicleWaypoints = body.vehicleWaypoints
        trip.attributes = body.attributes
        guard trip.tripType == .shared || trip.tripType == .exclusive else {
            throw .invalidArgument("trip_type must be SHARED or EXCLUSIVE.", field: "trip_type")
        }
        guard trip.numberOfPassengers >= 0 else {
            throw .invalidArgument("number_of_passengers must not be negative.", field: "number_of_passengers")
        }
        try self.normalise(&trip)
        try self.check(trip)
        return trip
    }

    /// Applies an update, whose state ``checkState(of:with:_:selection:)`` checks.
    ///
    /// - Parameters:
    ///   - trip: The trip as it is stored.
    ///   - body: The trip in the request, of which only the selected fields count.
    ///   - selection: The fields that the update mask names.
    ///   - now: The time of the call.
    /// - Returns: The trip with the selected fields.
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    static func update(
        _ trip: Trip, with body: Trip, selection: FieldSelection<Trip>, at now: Google_Protobuf_Timestamp
    ) throws(EngineError) -> Trip {
        var updated = try selection.patching(trip, with: body)
        try self.normalise(&updated)
        let last = Int32(clamping: updated.intermediateDestinations.count) - 1
        if last < 0 {
            // Nothing to count without destinations.
            updated.intermediateDestinationIndex = 0
        } else if !updated.tripStatus.isIntermediate, !selection.touches("intermediate_destination_index") {
            // Left over from a longer list, it tells nothing while the trip is not at its destinations.
            updated.intermediateDestinationIndex = min(updated.intermediateDestinationIndex, last)
        }
        try self.check(updated)
        try self.checkProgress(of: updated)
        self.renameTimes(of: &updated, selection)
        if updated.intermediateDestinations != trip.intermediateDestinations {
            updated.intermediateDestinationsVersion = .version(after: trip.intermediateDestinationsVersion, at: now)
        }
        return updated
    }

    /// Checks an update as far as that can be done without the trip.
    ///
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT`.
    static func check(_ body: Trip, selection: FieldSelection<Trip>) throws(EngineError) {
        var blank = Trip()
        blank.tripType = .exclusive
        blank.tripStatus = .new
        blank.pickupPoint.point = LatLng()
        var patched = try selection.patching(blank, with: body)
        try self.normalise(&patched)
        try self.check(patched)
    }

    private static func check(_ trip: Trip) throws(EngineError) {
        guard TripStatus.allCases.dropFirst().contains(trip.tripStatus) else {
            throw .invalidArgument("trip_status is not a known status.", field: "trip_status")
        }
        guard trip.hasPickupPoint, trip.pickupPoint.hasPoint else {
            throw .invalidArgument("pickup_point.point is required.", field: "pickup_point")
        }
        try trip.pickupPoint.point.check("pickup_point.point")
        if trip.hasDropoffPoint { try self.check([trip.dropoffPoint], "dropoff_point") }
        guard trip.intermediateDestinations.count <= Self.maximumDestinations else {
            throw .invalidArgument(
                "intermediate_destinations holds \(trip.intermediateDestinations.count) places; a trip has "
                    + "\(Self.maximumDestinations) at most.",
                field: "intermediate_destinations"
            )
        }
        try self.check(trip.intermediateDestinations, "intermediate_destinations")
        guard trip.intermediateDestinations.isEmpty || trip.tripType == .exclusive else {
            throw .invalidArgument(
                "intermediate_destinations are for EXCLUSIVE trips only.", field: "intermediate_destinations"
            )
        }
        if trip.hasActualPickupPoint { try self.check([trip.actualPickupPoint], "actual_pickup_point") }
        if trip.hasActualPickupArrivalPoint {
            try self.check([trip.actualPickupArrivalPoint], "actual_pickup_arrival_point")
        }
        if trip.hasActualDropoffPoint { try self.check([trip.actualDropoffPoint], "actual_dropoff_point") }
        try self.check(
            trip.actualIntermediateDestinationArrivalPoints, "actual_intermediate_destination_arrival_points"
        )
        try self.check(trip.actualIntermediateDestinations, "actual_intermediate_destinations")
        try AttributeRules.check(trip.attributes)
    }

    private static func checkProgress(of trip: Trip) throws(EngineError) {
        let destinations = trip.intermediateDestinations
        guard !trip.tripStatus.isIntermediate || !destinations.isEmpty else {
            throw .invalidArgument(
                "trip_status is \(trip.tripStatus.contractName), and the trip has no intermediate_destinations.",
                field: "trip_status"
            )
        }
        let index = trip.intermediateDestinationIndex
        guard destinations.isEmpty || destinations.indices.contains(Int(index)) else {
            throw .invalidArgument(
                "intermediate_destination_index is \(index); the trip has \(destinations.count) destinations, from 0.",
                field: "intermediate_destination_index"
            )
        }
    }

    /// Checks an update against the trip's state, once all that it names is known to exist.
    ///
    /// - Parameters:
    ///   - trip: The trip as it is stored.
    ///   - body: The trip in the request.
    ///   - updated: The trip with the selected fields.
    ///   - selection: The fields that the update mask names.
    /// - Throws: ``EngineError`` with `FAILED_PRECONDITION` where the trip's state forbids the update.
    static func checkState(
        of trip: Trip, with body: Trip, _ updated: Trip, selection: FieldSelection<Trip>
    ) throws(EngineError) {
        if trip.tripStatus.isTerminal {
            guard updated.tripStatus == trip.tripStatus, updated.vehicleID == trip.vehicleID else {
                throw .failedPrecondition(
                    "TRIP_ENDED",
                    "The trip is over; neither its status nor its vehicle can change. Create another trip."
                )
            }
        }
        let dependsOnDestinations =
            selection.touches("intermediate_destinations") || selection.touches("intermediate_destinations_version")
            || selection.touches("intermediate_destination_index")
            || selection.touches("trip_status") && updated.tripStatus == .enrouteToIntermediateDestination
        if dependsOnDestinations, body.hasIntermediateDestinationsVersion,
            body.intermediateDestinationsVersion != trip.intermediateDestinationsVersion
        {
            throw .failedPrecondition(
                "STALE_DESTINATIONS",
                "intermediate_destinations have changed since intermediate_destinations_version; read the trip again."
            )
        }
    }

    /// Brings the vehicle's id into the form in which the vehicle has it.
    private static func normalise(_ trip: inout Trip) throws(EngineError) {
        guard !trip.vehicleID.isEmpty else { return }
        do {
            trip.vehicleID = try VehicleID(checking: trip.vehicleID).value
        } catch {
            throw .invalidArgument(error.message, field: "vehicle_id")
        }
    }

    /// Moves the times of the trip's record from the deprecated field to the one that replaced it.
    private static func renameTimes(of trip: inout Trip, _ selection: FieldSelection<Trip>) {
        func rename(_ field: String, _ stop: inout StopLocation) {
            // Where the update names the deprecated field alone, that renews what is stored under the new name.
            if selection.covers("\(field).stop_time"), !selection.covers("\(field).timestamp") { stop.clearTimestamp() }
            stop.renameDeprecated()
        }
        if trip.hasActualPickupPoint { rename("actual_pickup_point", &trip.actualPickupPoint) }
        if trip.hasActualPickupArrivalPoint { rename("actual_pickup_arrival_point", &trip.actualPickupArrivalPoint) }
        if trip.hasActualDropoffPoint { rename("actual_dropoff_point", &trip.actualDropoffPoint) }
        for index in trip.actualIntermediateDestinations.indices {
            trip.actualIntermediateDestinations[index].renameDeprecated()
        }
        for index in trip.actualIntermediateDestinationArrivalPoints.indices {
            trip.actualIntermediateDestinationArrivalPoints[index].renameDeprecated()
        }
    }

    private static func check(_ places: [some Place], _ field: String) throws(EngineError) {
        for place in places {
            guard place.hasPoint else {
                throw .invalidArgument("\(field) needs a point.", field: field)
            }
            try place.point.check("\(field).point")
            for time in place.times { try time.check(field) }
        }
    }
}

/// A message that says where something is.
private protocol Place {
    var hasPoint: Bool { get }
    var point: LatLng { get }
    var times: [Google_Protobuf_Timestamp] { get }
}

extension TerminalLocation: Place {
    var times: [Google_Protobuf_Timestamp] { [] }
}

extension StopLocation: Place {
    var times: [Google_Protobuf_Timestamp] { [self.timestamp, self.stopTime] }
}

extension StopLocation {
    /// Moves the time from the deprecated field to the one that replaced it, unless that has one.
    fileprivate mutating func renameDeprecated() {
        guard self.hasStopTime else { return }
        if !self.hasTimestamp { self.timestamp = self.stopTime }
        self.clearStopTime()
    }
}
