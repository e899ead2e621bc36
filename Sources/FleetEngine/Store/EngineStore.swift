// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens

/// Keeps vehicles and trips.
///
/// One conformance suite runs against every implementation.
///
/// A body runs alone in its transaction and may run on any thread; it does no I/O of its own. What it puts becomes
/// visible and durable together, or, when it throws, not at all.
protocol EngineStore: Sendable {
    /// Runs a body that only looks, on a consistent snapshot.
    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineReader) throws -> Result
    ) async throws -> Result

    /// Runs a body that may put, and returns once its changes are durable. Bodies are committed in groups.
    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineTransaction) throws -> Result
    ) async throws -> Result
}

/// What can be looked up within a transaction.
protocol EngineReader {
    /// The vehicle, or `nil`.
    func vehicle(_ id: VehicleID, of provider: ProviderID) throws -> Vehicle?
    /// The trip, or `nil`.
    func trip(_ id: TripID, of provider: ProviderID) throws -> Trip?
    /// The vehicles that are online and whose last location lies in the box, in no particular order.
    func onlineVehicles(of provider: ProviderID, in box: GeoBox) throws -> [Vehicle]
}

/// What can be changed within a transaction.
protocol EngineTransaction: EngineReader {
    /// Creates or replaces a vehicle; its `name` says where.
    func put(_ vehicle: Vehicle, _ id: VehicleID, of provider: ProviderID) throws
    /// Creates or replaces a trip; its `name` says where.
    func put(_ trip: Trip, _ id: TripID, of provider: ProviderID) throws
}

/// A box of latitudes and longitudes in degrees; it crosses the 180th meridian when west lies east of east.
struct GeoBox: Hashable, Sendable {
    var south: Double
    var west: Double
    var north: Double
    var east: Double

    /// Whether a point lies in the box.
    func contains(latitude: Double, longitude: Double) -> Bool {
        guard (self.south...max(self.south, self.north)).contains(latitude) else { return false }
        return self.west <= self.east
            ? (self.west...self.east).contains(longitude)
            : longitude >= self.west || longitude <= self.east
    }
}
