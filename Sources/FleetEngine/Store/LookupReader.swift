// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens

/// Looks resources up in a store's tables, and notes when a body wants to look through many.
///
/// Such a body takes long. It is run again where few of its kind are at work at once, so that the others find a reader.
final class LookupReader: EngineReader {
    /// Why a body must run again, whatever it makes of this.
    struct Scans: Error {}

    /// How many resources a short scan may look at.
    static let shortLimit = 64

    private let tables: any EngineReader
    private let nearbyLimit: Int
    private var scans = false

    private init(_ tables: any EngineReader, nearbyLimit: Int) {
        self.tables = tables
        self.nearbyLimit = nearbyLimit
    }

    /// Runs a body.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - tables: Where it looks.
    ///   - nearbyLimit: How many vehicles about a point are few; most searches end with the nearest.
    /// - Returns: What the body returns.
    /// - Throws: ``Scans``, or what the body throws.
    static func run<Answer>(
        _ body: (any EngineReader) throws -> Answer, over tables: any EngineReader, nearbyLimit: Int = .max
    ) throws -> Answer {
        let reader = Self(tables, nearbyLimit: nearbyLimit)
        let result = Result { try body(reader) }
        guard !reader.scans else { throw Scans() }
        return try result.get()
    }

    func find<Resource: StoredResource>(
        _ id: FleetID<Resource.Kind>, of provider: ProviderID, as type: Resource.Type
    ) throws -> Resource? {
        try self.tables.find(id, of: provider, as: type)
    }

    func prefetch<Resource: StoredResource>(
        _ ids: [FleetID<Resource.Kind>], of provider: ProviderID, as type: Resource.Type
    ) throws {
        try self.tables.prefetch(ids, of: provider, as: type)
    }

    func scan<Resource: StoredResource>(
        _ scan: StoreScan, of provider: ProviderID, _ body: (_ id: String, Resource) throws -> Bool
    ) throws {
        guard scan.isShort else { throw self.interrupt() }
        var count = 0
        try self.tables.scan(scan, of: provider) { (id, resource: Resource) in
            count += 1
            guard count <= Self.shortLimit else { throw self.interrupt() }
            return try body(id, resource)
        }
    }

    func scanVehicles(
        nearest point: LatLng, within meters: Double, of provider: ProviderID,
        _ body: (_ leastMeters: Double, Vehicle) throws -> Bool
    ) throws {
        var count = 0
        try self.tables.scanVehicles(nearest: point, within: meters, of: provider) { leastMeters, vehicle in
            count += 1
            guard count <= self.nearbyLimit else { throw self.interrupt() }
            return try body(leastMeters, vehicle)
        }
    }

    func count(_ collection: StoreCollection, of provider: ProviderID) throws -> Int { throw self.interrupt() }

    func providers() throws -> [ProviderID] { throw self.interrupt() }

    private func interrupt() -> Scans {
        self.scans = true
        return Scans()
    }
}
