// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokenClient
public import Foundation

/// One thing that became different about a shipment.
public enum ShipmentChange: Sendable {
    /// The shipment's task was opened or closed.
    case state(ShipmentState)
    /// The vehicle was seen somewhere, or is not shown.
    case vehiclePosition(VehiclePosition?)
    /// So many stops are left, this one included; `nil` where that is not shown.
    case remainingStops(Int?)
    /// The vehicle has so many metres to go; `nil` where that is not shown.
    case remainingDistance(meters: Int?)
    /// The vehicle is expected at another time; `nil` where that is not shown.
    case estimatedArrival(Date?)
    /// The task is expected to be done at another time; `nil` where that is not shown.
    case estimatedCompletion(Date?)
    /// The way to the stop is another; empty where that is not shown.
    case route([GeoPoint])
    /// The time in which it shall happen is another.
    case timeWindow(DateInterval?)
    /// The outcome is known; nothing more follows.
    case ended(ShipmentOutcome)
    /// An answer is missing; the snapshot stays as it was and polling goes on.
    case failure(EngineFailure)
}
