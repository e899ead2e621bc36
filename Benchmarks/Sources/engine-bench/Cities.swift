// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngine
import FleetEngineAPI
import Foundation
import GRDB
import Logging
import SwiftProtobuf

/// Vehicles in a hundred cities, most of them near the middles.
struct Cities: Sendable {
    private static let cities = 100
    /// How the places in a city spread: 10 km.
    private static let spread = 0.09

    let vehicles: Int

    /// The resource name of a vehicle.
    func name(_ number: Int) -> String { "providers/bench/vehicles/vehicle-\(number)" }

    /// Where a vehicle is; the same at each call.
    func place(of number: Int) -> (latitude: Double, longitude: Double) {
        let number = abs(number) % self.vehicles
        var state = UInt64(truncatingIfNeeded: number) &+ 0x9e37_79b9_7f4a_7c15
        /// The next of a sequence of numbers between 0 and 1, by SplitMix64.
        func random() -> Double {
            state &+= 0x9e37_79b9_7f4a_7c15
            var bits = state
            bits = (bits ^ (bits >> 30)) &* 0xbf58_476d_1ce4_e5b9
            bits = (bits ^ (bits >> 27)) &* 0x94d0_49bb_1331_11eb
            return Double((bits ^ (bits >> 31)) >> 11) / Double(1 << 53)
        }
        let city = number % Self.cities
        let distance = (-2 * log(1 - random())).squareRoot() * Self.spread
        let angle = random() * 2 * .pi
        return (
            latitude: Double(city / 10) * 5 + distance * sin(angle),
            longitude: Double(city % 10) * 5 + distance * cos(angle)
        )
    }

    /// Makes a store and puts all vehicles into its tables, past the engine.
    func fill(storeAt path: String, logger: Logger) async throws {
        try await SQLiteStore(path: path, logger: logger).close()
        let queue = try DatabaseQueue(path: path)
        let now = Date()
        for start in stride(from: 0, to: self.vehicles, by: 50_000) {
            try await queue.write { database in
                let vehicle = try database.makeStatement(
                    sql: """
                        INSERT INTO vehicle (number, provider, id, active, latitude, longitude, indexed_latitude,
                        indexed_longitude, updated, message) VALUES (?, 'bench', ?, 1, ?, ?, ?, ?, ?, ?)
                        """)
                // The last two are where vehicles of the provider are that are online.
                let place = try database.makeStatement(
                    sql: """
                        INSERT INTO vehicle_place
                        VALUES (?, ? - 0.002, ? + 0.002, ? - 0.002, ? + 0.002, 5913203, 5913204)
                        """)
                for number in start..<min(start + 50_000, self.vehicles) {
                    let (latitude, longitude) = self.place(of: number)
                    let message: Data = try self.vehicle(number, at: (latitude, longitude), now).serializedBytes()
                    try vehicle.execute(arguments: [
                        number + 1, "vehicle-\(number)", latitude, longitude, latitude, longitude,
                        Int64(now.timeIntervalSince1970 * 1e6), message,
                    ])
                    try place.execute(arguments: [number + 1, longitude, longitude, latitude, latitude])
                }
            }
        }
        try await queue.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        try queue.close()
    }

    private func vehicle(_ number: Int, at place: (latitude: Double, longitude: Double), _ now: Date) -> Vehicle {
        var vehicle = Vehicle.sample
        vehicle.name = self.name(number)
        vehicle.lastLocation.location.latitude = place.latitude
        vehicle.lastLocation.location.longitude = place.longitude
        // Long enough for every search of the run to find it fresh.
        vehicle.lastLocation.serverTime = Google_Protobuf_Timestamp(date: now)
        return vehicle
    }
}
