// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// Keeps vehicles, trips, delivery vehicles and tasks.
///
/// One conformance suite runs against every implementation.
///
/// A body runs alone in its transaction and may run on any thread; it does no I/O of its own. What it puts becomes
/// visible and durable together, or, when it throws, not at all.
protocol EngineStore: Sendable {
    /// Whether readers are given one and the same message for as long as it does not change, so that it can be told from
    /// others without a look into it.
    var repeatsMessages: Bool { get }

    /// Runs a body that only looks, on a consistent snapshot.
    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineReader) throws -> Result
    ) async throws -> Result

    /// Runs a body that may put, and returns once its changes are durable. Bodies are committed in groups.
    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineTransaction) throws -> Result
    ) async throws -> Result

    /// Looks whether the store serves.
    ///
    /// - Returns: What the database says of itself, where machines share one; `nil` for a store of this machine's own.
    /// - Throws: Why the store cannot be read.
    func status() async throws -> StoreStatus?

    /// Looks whether changes are kept where others find them, and tries it by some that leave nothing where the last
    /// group of writes was not kept.
    ///
    /// - Throws: Why they are not.
    func probe() async throws
}

extension EngineStore {
    /// False, for stores that read a message anew each time.
    var repeatsMessages: Bool { false }

    /// Does nothing, for a store that refuses no changes.
    func probe() async throws {}
}

/// What can be looked up within a transaction.
protocol EngineReader {
    /// The resource, or `nil`.
    func find<Resource: StoredResource>(
        _ id: FleetID<Resource.Kind>, of provider: ProviderID, as type: Resource.Type
    ) throws -> Resource?

    /// Says which resources are looked up next, so that a store that is far away is asked once for all of them.
    ///
    /// - Parameters:
    ///   - ids: The ids; they need not be there.
    ///   - provider: The provider.
    ///   - type: The type of the resources.
    /// - Throws: What the store throws.
    func prefetch<Resource: StoredResource>(
        _ ids: [FleetID<Resource.Kind>], of provider: ProviderID, as type: Resource.Type
    ) throws

    /// Looks through resources, one at a time, until the body returns `false`.
    func scan<Resource: StoredResource>(
        _ scan: StoreScan, of provider: ProviderID, _ body: (_ id: String, Resource) throws -> Bool
    ) throws

    /// Looks through the vehicles that are online and whose last place lies about a point, roughly the nearest first,
    /// until the body returns `false`.
    ///
    /// - Parameters:
    ///   - point: The point.
    ///   - meters: How far from it vehicles are looked for; a few that are further may be found too.
    ///   - provider: The provider.
    ///   - body: Told of each vehicle, and of a distance: neither it nor any that comes later is nearer.
    /// - Throws: What the body throws, or the store.
    func scanVehicles(
        nearest point: LatLng, within meters: Double, of provider: ProviderID,
        _ body: (_ leastMeters: Double, Vehicle) throws -> Bool
    ) throws

    /// How many resources a collection holds.
    func count(_ collection: StoreCollection, of provider: ProviderID) throws -> Int

    /// How many resources a scan finds; `nil` where that takes a look at each of them.
    func count(_ scan: StoreScan, in collection: StoreCollection, of provider: ProviderID) throws -> Int?

    /// Every provider that has resources.
    func providers() throws -> [ProviderID]
}

/// What can be changed within a transaction.
protocol EngineTransaction: EngineReader {
    /// Whether a resource is there and was last put at a time or before, also where it was put as it was.
    func isUnchanged<Resource: StoredResource>(
        _ id: FleetID<Resource.Kind>, of provider: ProviderID, as type: Resource.Type,
        since time: Google_Protobuf_Timestamp
    ) throws -> Bool

    /// Creates or replaces a resource; its `name` says where.
    ///
    /// - Parameters:
    ///   - resource: The resource.
    ///   - id: Its id.
    ///   - provider: Its provider.
    ///   - now: The time of the change; `nil` leaves a resource that is there the time of its last one.
    /// - Throws: What the store throws.
    func put<Resource: StoredResource>(
        _ resource: Resource, _ id: FleetID<Resource.Kind>, of provider: ProviderID, at now: Google_Protobuf_Timestamp?
    ) throws

    /// Replaces a vehicle by one that differs from it by a report only, as
    /// `Vehicle.differsByReportOnly(from:)` tells.
    ///
    /// - Parameters:
    ///   - vehicle: The vehicle, made from the one that this transaction found.
    ///   - id: Its id.
    ///   - provider: Its provider.
    ///   - now: The time of the report.
    /// - Throws: What the store throws.
    func report(_ vehicle: Vehicle, _ id: VehicleID, of provider: ProviderID, at now: Google_Protobuf_Timestamp) throws

    /// Removes a resource, if it is there.
    func remove<Resource: StoredResource>(
        _ id: FleetID<Resource.Kind>, of provider: ProviderID, as type: Resource.Type
    ) throws
}

extension EngineTransaction {
    func report(_ vehicle: Vehicle, _ id: VehicleID, of provider: ProviderID, at now: Google_Protobuf_Timestamp) throws
    {
        try self.put(vehicle, id, of: provider, at: now)
    }
}

extension EngineReader {
    /// The vehicle, or `nil`.
    func vehicle(_ id: VehicleID, of provider: ProviderID) throws -> Vehicle? {
        try self.find(id, of: provider, as: Vehicle.self)
    }

    /// The trip, or `nil`.
    func trip(_ id: TripID, of provider: ProviderID) throws -> Trip? {
        try self.find(id, of: provider, as: Trip.self)
    }

    /// The delivery vehicle, or `nil`.
    func deliveryVehicle(_ id: DeliveryVehicleID, of provider: ProviderID) throws -> DeliveryVehicle? {
        try self.find(id, of: provider, as: DeliveryVehicle.self)
    }

    /// The task, or `nil`.
    func task(_ id: TaskID, of provider: ProviderID) throws -> DeliveryTask? {
        try self.find(id, of: provider, as: DeliveryTask.self)
    }
}

extension EngineReader {
    /// Does nothing, for stores that are as quick one by one.
    func prefetch<Resource: StoredResource>(
        _ ids: [FleetID<Resource.Kind>], of provider: ProviderID, as type: Resource.Type
    ) throws {}

    /// Counts a whole collection, for stores that cannot tell of a part of it.
    func count(_ scan: StoreScan, in collection: StoreCollection, of provider: ProviderID) throws -> Int? {
        scan.isUnrestricted ? try self.count(collection, of: provider) : nil
    }

    /// Looks through all vehicles in a box about the point, for stores whose index knows no distances.
    func scanVehicles(
        nearest point: LatLng, within meters: Double, of provider: ProviderID,
        _ body: (_ leastMeters: Double, Vehicle) throws -> Bool
    ) throws {
        var found: [(meters: Double, vehicle: Vehicle)] = []
        let scan = StoreScan(isActiveOnly: true, box: GeoBox(around: point, meters: meters), isOrdered: false)
        try self.scan(scan, of: provider) { (_, vehicle: Vehicle) in
            found.append((vehicle.lastLocation.location.meters(to: point), vehicle))
            return true
        }
        for (meters, vehicle) in found.sorted(by: { $0.meters < $1.meters }) where try !body(meters, vehicle) { return }
    }
}
