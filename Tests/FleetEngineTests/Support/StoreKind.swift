// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetPostgreSQL
import FleetSQLite
import FleetTokens
import Foundation
import Logging
import PostgreSQLTestSupport
import SwiftProtobuf

@testable import FleetEngine

/// A folder that is gone after its use.
func withTemporaryFolder<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appending(path: "fleetpass-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder)
}

/// The stores that must behave alike.
enum StoreKind: String, CaseIterable, CustomStringConvertible {
    case memory
    case sqlite
    case postgreSQL

    /// Those that this machine has.
    static let allCases: [Self] =
        PostgreSQLServer.isInstalled ? [.memory, .sqlite, .postgreSQL] : [.memory, .sqlite]

    var description: String { self.rawValue }

    /// Makes an empty store, hands it over, and closes it.
    func withStore<Result>(_ body: (any EngineStore) async throws -> Result) async throws -> Result {
        switch self {
        case .memory:
            return try await body(MemoryStore())
        case .sqlite:
            return try await withTemporaryFolder { folder in
                let store = try SQLiteStore(path: folder.appending(path: "engine.sqlite").path)
                let result = try await body(store)
                try await store.close()
                return result
            }
        case .postgreSQL:
            // However busy the machine is, the server is there.
            let patient = Duration.seconds(240)
            let store = try PostgreSQLStore(
                address: try await PostgreSQLServer.shared().makeDatabase(),
                limits: PostgreSQLLimits(connect: patient, statement: patient))
            let result = try await body(store)
            await store.close()
            return result
        }
    }
}

extension PostgreSQLStore {
    /// A store that tells nobody, and holds few connections, as many tests run at once.
    convenience init(
        address: String, groupLimit: Int = 512, waitingLimit: Int = 10_000,
        limits: PostgreSQLLimits = PostgreSQLLimits()
    ) throws(EngineError) {
        try self.init(
            address, logger: .silent, readers: 2, groupLimit: groupLimit, waitingLimit: waitingLimit, limits: limits)
    }
}

extension SQLiteStore {
    /// A store that tells nobody.
    convenience init(
        path: String, groupLimit: Int = 512, waitingLimit: Int = 10_000, logLimit: Int64 = DurableDatabase.logLimit
    ) throws(EngineError) {
        let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        try self.init(
            path: path, logger: silent, groupLimit: groupLimit, waitingLimit: waitingLimit, logLimit: logLimit)
    }
}

/// The ids that tests use.
enum TestID {
    static let acme = id("acme", ProviderID.self)
    static let other = id("other", ProviderID.self)
    static let vehicle = id("veh-1", VehicleID.self)
    static let trip = id("trip-1", TripID.self)
    static let task = id("task-1", TaskID.self)

    static func id<Kind>(_ text: String, _: FleetID<Kind>.Type = FleetID<Kind>.self) -> FleetID<Kind> {
        guard let id = FleetID<Kind>(text) else { fatalError("\(text) is no id") }
        return id
    }
}

extension Vehicle {
    /// A vehicle at a place.
    static func at(_ latitude: Double, _ longitude: Double, name: String = "", online: Bool = true) -> Vehicle {
        .with {
            $0.name = name
            $0.vehicleState = online ? .online : .offline
            $0.lastLocation.location.latitude = latitude
            $0.lastLocation.location.longitude = longitude
        }
    }
}

extension EngineTransaction {
    /// Puts at a time that does not matter.
    func put<Resource: StoredResource>(
        _ resource: Resource, _ id: FleetID<Resource.Kind>, of provider: ProviderID
    ) throws {
        try self.put(resource, id, of: provider, at: Google_Protobuf_Timestamp())
    }
}
