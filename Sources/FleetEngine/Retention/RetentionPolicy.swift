// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// How long the engine keeps what nobody changes any more; `nil` is for ever.
public struct RetentionPolicy: Hashable, Sendable {
    /// Vehicles without trips, counted from their last update.
    public var vehicles: Duration?
    /// Trips, whatever their status, counted from their last change.
    public var trips: Duration?
    /// Delivery vehicles without open tasks, counted from their last update.
    public var deliveryVehicles: Duration?
    /// Tasks that no vehicle has ahead of it, counted from their last change.
    public var tasks: Duration?

    /// A week for everything on demand, as the service documents it, and for delivery vehicles; tasks for ever.
    public init(
        vehicles: Duration? = .seconds(7 * 86_400),
        trips: Duration? = .seconds(7 * 86_400),
        deliveryVehicles: Duration? = .seconds(7 * 86_400),
        tasks: Duration? = nil
    ) {
        self.vehicles = vehicles
        self.trips = trips
        self.deliveryVehicles = deliveryVehicles
        self.tasks = tasks
    }
}
