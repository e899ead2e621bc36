// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokenClient
public import FleetTokens
public import Foundation

/// One thing that became different about a trip.
public enum TripChange: Sendable {
    /// A vehicle was assigned, exchanged, or taken away.
    case vehicle(VehicleID?)
    /// The trip went on.
    case status(TripStatus)
    /// The vehicle was seen somewhere, or is no longer shown.
    case vehiclePosition(VehiclePosition?)
    /// The arrival at the next stop is expected at another time.
    case etaToNextWaypoint(Date?)
    /// The trip begins elsewhere or at another time; after the pick-up, the time is when it was.
    case pickup(GeoPoint?, time: Date?)
    /// The trip ends elsewhere or at another time.
    case dropoff(GeoPoint?, time: Date?)
    /// The trip calls at other places on its way, or has gone past one.
    case intermediateDestinations([GeoPoint], next: Int)
    /// Metres from the vehicle to its next stop, whoever gets on or off there.
    case remainingDistance(Int?)
    /// Other stops are left, or their times moved.
    case remainingWaypoints([TripWaypoint])
    /// The way to the next stop is another.
    case route([GeoPoint], encoded: String?)
    /// Traffic on the way to the next stop flows differently, or is not known any more.
    case traffic(RouteTraffic?)
    /// The trip is over; nothing more follows.
    case ended(TripStatus)
    /// An answer is missing; the snapshot stays as it was and polling goes on.
    case failure(EngineFailure)
}
