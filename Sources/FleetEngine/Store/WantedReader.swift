// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens

/// Looks through a store's tables for as long as somebody waits for what is found.
///
/// Few look through many resources at once, and a list that was given up would keep the others out until its end.
final class WantedReader: EngineReader {
    /// How many resources are looked at before it is asked again whether they are wanted.
    private static let portion = 256

    private let tables: any EngineReader
    private let isWanted: @Sendable () -> Bool
    private var count = 0

    /// Looks where another reader does, until nobody waits; then `CancellationError` is thrown.
    init(_ tables: any EngineReader, while isWanted: @escaping @Sendable () -> Bool) {
        self.tables = tables
        self.isWanted = isWanted
    }

    func find<Resource: StoredResource>(
        _ id: FleetID<Resource.Kind>, of provider: ProviderID, as type: Resource.Type
    ) throws -> Resource? {
        try self.check()
        return try self.tables.find(id, of: provider, as: type)
    }

    func prefetch<Resource: StoredResource>(
        _ ids: [FleetID<Resource.Kind>], of provider: ProviderID, as type: Resource.Type
    ) throws {
        try self.tables.prefetch(ids, of: provider, as: type)
    }

    func scan<Resource: StoredResource>(
        _ scan: StoreScan, of provider: ProviderID, _ body: (_ id: String, Resource) throws -> Bool
    ) throws {
        try self.tables.scan(scan, of: provider) { (id, resource: Resource) in
            try self.check()
            return try body(id, resource)
        }
    }

    func scanVehicles(
        nearest point: LatLng, within meters: Double, of provider: ProviderID,
        _ body: (_ leastMeters: Double, Vehicle) throws -> Bool
    ) throws {
        try self.tables.scanVehicles(nearest: point, within: meters, of: provider) { leastMeters, vehicle in
            try self.check()
            return try body(leastMeters, vehicle)
        }
    }

    func count(_ collection: StoreCollection, of provider: ProviderID) throws -> Int {
        try self.tables.count(collection, of: provider)
    }

    func count(_ scan: StoreScan, in collection: StoreCollection, of provider: ProviderID) throws -> Int? {
        try self.tables.count(scan, in: collection, of: provider)
    }

    func providers() throws -> [ProviderID] { try self.tables.providers() }

    /// Counts a resource, and looks from time to time whether any are wanted.
    private func check() throws {
        self.count += 1
        if self.count % Self.portion == 0, !self.isWanted() { throw CancellationError() }
    }
}
