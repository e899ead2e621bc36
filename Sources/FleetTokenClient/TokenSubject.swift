// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens

/// Whose token is asked for: the kind of token and the resource it is for.
///
/// Tokens are cached and fetched per subject; a token of one subject is never handed out for another.
public enum TokenSubject: Hashable, Sendable {
    /// The driver of an on-demand vehicle.
    case driver(VehicleID)
    /// A customer who watches a trip.
    case consumer(TripID)
    /// A delivery driver, optionally for one task (trusted devices only).
    case deliveryDriver(DeliveryVehicleID, task: TaskID? = nil)
    /// A recipient who follows a shipment.
    case deliveryConsumer(TrackingID)
    /// A reader of the whole fleet, for an operator's own tools.
    case fleetReader
}
