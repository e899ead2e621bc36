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
    /// Other stops are left, or their times moved.
    case remainingWaypoints([TripWaypoint])
    /// The way to the next stop is another.
    case route([GeoPoint], encoded: String?)
    /// The trip is over; nothing more follows.
    case ended(TripStatus)
    /// An answer is missing; the snapshot stays as it was and polling goes on.
    case failure(EngineFailure)
}
