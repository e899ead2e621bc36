// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetPostgreSQL
import FleetTokens
import Foundation
import Logging
import SwiftProtobuf

extension Engine {
    /// Deletes what a policy no longer keeps, by the database's clock where machines share one.
    ///
    /// - Parameter policy: How long what is kept.
    /// - Returns: How many resources were deleted.
    /// - Throws: ``EngineError`` with the reason `STORE_CLOCK`, and nothing is deleted, while this machine's clock is more
    ///   than 5 seconds from the database's; or what the store throws, once the collections at which it does not are swept.
    @discardableResult
    public func sweep(_ policy: RetentionPolicy) async throws -> Int {
        let now = try await self.timeOfSweep()
        var count = 0
        var failure: (any Error)?
        func add(_ collection: StoreCollection, _ sweep: () async throws -> Int) async throws {
            do {
                count += try await sweep()
            } catch let error as CancellationError {
                throw error
            } catch {
                failure = failure ?? error
                self.logger?.error(
                    "What is old could not be deleted",
                    metadata: ["collection": "\(collection.rawValue)", "error": "\(error)"])
            }
        }
        for provider in try await self.store.read({ try $0.providers() }) {
            // Trips first: a vehicle may go once it has none.
            try await add(.trips) { try await self.sweep(provider, at: now, after: policy.trips, Self.removeTrip) }
            try await add(.vehicles) {
                try await self.sweep(provider, at: now, after: policy.vehicles) {
                    (store, id, vehicle: Vehicle, _) in
                    guard vehicle.currentTrips.isEmpty else { return false }
                    try store.remove(id, of: provider, as: Vehicle.self)
                    return true
                }
            }
            try await add(.deliveryVehicles) {
                try await self.sweep(provider, at: now, after: policy.deliveryVehicles) {
                    (store, id, vehicle: DeliveryVehicle, _) in
                    guard Journey(of: vehicle).tasks.isEmpty else { return false }
                    try store.remove(id, of: provider, as: DeliveryVehicle.self)
                    return true
                }
            }
            try await add(.tasks) {
                try await self.sweep(provider, at: now, after: policy.tasks) {
                    (store, id, task: DeliveryTask, _) in
                    guard task.state == .closed || task.deliveryVehicleID.isEmpty else { return false }
                    try store.remove(id, of: provider, as: DeliveryTask.self)
                    return true
                }
            }
        }
        if let failure { throw failure }
        return count
    }

    /// A machine that is days ahead must not delete what is in use on all the others.
    private func timeOfSweep() async throws -> Date {
        let before = self.now()
        guard let status = try await self.store.status() else { return before }
        let clocks = DatabaseClock(local: (before, self.now()), database: status.time)
        if let problem = clocks.problem {
            throw EngineError(
                code: .failedPrecondition, reason: "STORE_CLOCK",
                message: "Nothing is deleted while \(problem); set the one that is wrong, and have NTP keep both.")
        }
        return status.time
    }

    /// Removes a resource within a transaction, or says that it must stay.
    private typealias Removal<Resource: StoredResource> =
        @Sendable (any EngineTransaction, FleetID<Resource.Kind>, Resource, CallContext) throws -> Bool

    /// Looks through one collection in portions, so that neither a reader nor the writer is held for long.
    private func sweep<Resource: StoredResource>(
        _ provider: ProviderID, at now: Date, after age: Duration?, _ remove: @escaping Removal<Resource>
    ) async throws -> Int {
        guard let age else { return 0 }
        let context = CallContext(now: now, routes: self.routes, seesEveryVehicle: true)
        let since = Google_Protobuf_Timestamp(stamping: context.now).advanced(by: .zero - age)
        var scan = StoreScan(unchangedSince: since)
        var count = 0
        while true {
            let portion = try await self.store.read { [scan] store in
                var portion: [String] = []
                try store.scan(scan, of: provider) { (id, _: Resource) in
                    portion.append(id)
                    return portion.count < 200
                }
                return portion
            }
            guard let last = portion.last else { return count }
            let ids = portion.compactMap { FleetID<Resource.Kind>($0) }
            count += try await self.store.write { store in
                try store.prefetch(ids, of: provider, as: Resource.self)
                // What was put since, as it was or not, is kept for that; what a removal below changes is not.
                let unchanged = try ids.filter {
                    try store.isUnchanged($0, of: provider, as: Resource.self, since: since)
                }
                return try unchanged.count { id in
                    guard let resource = try store.find(id, of: provider, as: Resource.self) else { return false }
                    return try remove(store, id, resource, context)
                }
            }
            scan.after = last
        }
    }

    /// Removes a trip, and from its vehicle's way if it still is on one.
    @Sendable
    private static func removeTrip(
        _ store: any EngineTransaction, _ id: TripID, _ trip: Trip, _ context: CallContext
    ) throws -> Bool {
        guard case .trip(let provider, _) = try ResourceName(checking: trip.name) else { return false }
        let now = Google_Protobuf_Timestamp(stamping: context.now)
        var canceled = trip
        if trip.isUnderway { canceled.tripStatus = .canceled }
        let scene = try store.scene(of: canceled, id, before: trip, provider: provider)
        let changed = try TripEffects.apply(to: scene, from: trip, at: now)
        // Nobody changed its neighbours, so they are kept no longer for that.
        try store.putSurroundings(of: changed, from: scene, provider: provider, at: nil)
        try store.remove(id, of: provider, as: Trip.self)
        return true
    }
}
