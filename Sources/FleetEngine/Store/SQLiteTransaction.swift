// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Foundation
import GRDB
import SwiftProtobuf

/// What can be looked up in one snapshot of the database.
struct SQLiteReader: EngineReader {
    let database: Database

    func vehicle(_ id: VehicleID, of provider: ProviderID) throws -> Vehicle? {
        try self.message("SELECT message FROM vehicle WHERE provider = ? AND id = ?", provider, id)
    }

    func trip(_ id: TripID, of provider: ProviderID) throws -> Trip? {
        try self.message("SELECT message FROM trip WHERE provider = ? AND id = ?", provider, id)
    }

    func onlineVehicles(of provider: ProviderID, in box: GeoBox) throws -> [Vehicle] {
        let statement = try self.database.cachedStatement(
            sql: box.west <= box.east ? Self.boxQuery : Self.meridianBoxQuery)
        let arguments: StatementArguments = [provider.value, box.south, box.north, box.west, box.east]
        return try Data.fetchAll(statement, arguments: arguments).map { try Vehicle(serializedBytes: $0) }
    }

    private func message<Stored: Message, Kind>(
        _ sql: String, _ provider: ProviderID, _ id: FleetID<Kind>
    ) throws -> Stored? {
        let statement = try self.database.cachedStatement(sql: sql)
        let data = try Data.fetchOne(statement, arguments: [provider.value, id.value])
        return try data.map { try Stored(serializedBytes: $0) }
    }

    private static let boxQuery = """
        SELECT message FROM vehicle
        WHERE provider = ? AND online = 1 AND latitude BETWEEN ? AND ? AND longitude BETWEEN ? AND ?
        """

    private static let meridianBoxQuery = """
        SELECT message FROM vehicle
        WHERE provider = ? AND online = 1 AND latitude BETWEEN ? AND ? AND (longitude >= ? OR longitude <= ?)
        """
}

/// What can be changed within one savepoint of the database.
struct SQLiteTransaction: EngineTransaction {
    let database: Database

    private var reader: SQLiteReader { SQLiteReader(database: self.database) }

    func vehicle(_ id: VehicleID, of provider: ProviderID) throws -> Vehicle? {
        try self.reader.vehicle(id, of: provider)
    }

    func trip(_ id: TripID, of provider: ProviderID) throws -> Trip? {
        try self.reader.trip(id, of: provider)
    }

    func onlineVehicles(of provider: ProviderID, in box: GeoBox) throws -> [Vehicle] {
        try self.reader.onlineVehicles(of: provider, in: box)
    }

    func put(_ vehicle: Vehicle, _ id: VehicleID, of provider: ProviderID) throws {
        let location = vehicle.lastLocation.hasLocation ? vehicle.lastLocation.location : nil
        let statement = try self.database.cachedStatement(sql: Self.putVehicle)
        try statement.execute(arguments: [
            provider.value, id.value, vehicle.vehicleState == .online, location?.latitude, location?.longitude,
            try vehicle.serializedBytes() as Data,
        ])
    }

    func put(_ trip: Trip, _ id: TripID, of provider: ProviderID) throws {
        let statement = try self.database.cachedStatement(sql: Self.putTrip)
        try statement.execute(arguments: [provider.value, id.value, try trip.serializedBytes() as Data])
    }

    private static let putVehicle = """
        INSERT INTO vehicle (provider, id, online, latitude, longitude, message) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (provider, id) DO UPDATE SET online = excluded.online, latitude = excluded.latitude,
        longitude = excluded.longitude, message = excluded.message
        """

    private static let putTrip = """
        INSERT INTO trip (provider, id, message) VALUES (?, ?, ?)
        ON CONFLICT (provider, id) DO UPDATE SET message = excluded.message
        """
}
