// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI

extension TripStatus {
    /// The name in the contract; the number where there is none.
    var contractName: String {
        switch self {
        case .unknownTripStatus: "UNKNOWN_TRIP_STATUS"
        case .new: "NEW"
        case .enrouteToPickup: "ENROUTE_TO_PICKUP"
        case .arrivedAtPickup: "ARRIVED_AT_PICKUP"
        case .arrivedAtIntermediateDestination: "ARRIVED_AT_INTERMEDIATE_DESTINATION"
        case .enrouteToIntermediateDestination: "ENROUTE_TO_INTERMEDIATE_DESTINATION"
        case .enrouteToDropoff: "ENROUTE_TO_DROPOFF"
        case .complete: "COMPLETE"
        case .canceled: "CANCELED"
        case .UNRECOGNIZED(let number): String(number)
        }
    }

    /// Whether the trip is over, for good.
    var isTerminal: Bool { self == .complete || self == .canceled }

    /// Whether the trip leads to or stands at a destination on the way.
    var isIntermediate: Bool {
        self == .enrouteToIntermediateDestination || self == .arrivedAtIntermediateDestination
    }

    /// Whether the vehicle has left the pickup with its passengers.
    var isAfterPickup: Bool { self.isIntermediate || self == .enrouteToDropoff || self == .complete }
}

extension Trip {
    /// Whether the trip shapes its vehicle's way.
    var isUnderway: Bool { !self.vehicleID.isEmpty && !self.tripStatus.isTerminal }

    /// The stops that the trip has left, in order.
    func stops(id: String) -> [TripWaypoint] {
        func stop(_ location: TerminalLocation, _ type: Maps_Fleetengine_V1_WaypointType) -> TripWaypoint {
            var waypoint = TripWaypoint()
            waypoint.tripID = id
            waypoint.waypointType = type
            waypoint.location.point = location.point.rounded
            return waypoint
        }
        guard !self.tripStatus.isTerminal else { return [] }
        var stops: [TripWaypoint] = []
        if !self.tripStatus.isAfterPickup { stops.append(stop(self.pickupPoint, .pickupWaypointType)) }
        if self.tripStatus != .enrouteToDropoff {
            let passed = self.tripStatus.isIntermediate ? Int(self.intermediateDestinationIndex) : 0
            stops += self.intermediateDestinations.dropFirst(max(0, passed)).map {
                stop($0, .intermediateDestinationWaypointType)
            }
        }
        if self.hasDropoffPoint { stops.append(stop(self.dropoffPoint, .dropOffWaypointType)) }
        return stops
    }
}
