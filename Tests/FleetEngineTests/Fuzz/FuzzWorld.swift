// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTestSupport
import SwiftProtobuf

@testable import FleetEngine

/// An engine with some of everything, for requests to meet.
struct FuzzWorld: Sendable {
    /// It serves so many requests before a new one takes over, so that what it keeps does not grow without end.
    static let requests: UInt64 = 2000

    let engine: Engine
    /// Page tokens that lists of this engine gave.
    let pageTokens: [String]

    /// Fills an empty store.
    init(store: any EngineStore) async throws {
        let fixture = EngineFixture(store: store)
        let world = DeliveryWorld(store: fixture.store)
        for number in 1...3 {
            try await fixture.createVehicle("veh-\(number)")
            var trip = Trip.sample
            if number < 3 { trip.vehicleID = "veh-\(number)" }
            try await fixture.createTrip("trip-\(number)", trip)
            try await world.createVehicle("dv-\(number)")
            try await world.createTask("task-\(number)", tracking: "shp-\(number)")
            if number < 3 { try await world.plan("dv-\(number)", [["task-\(number)"]]) }
        }
        self.engine = fixture.engine
        let vehicles = try await self.engine.perform(
            ListVehicles.self,
            .with {
                $0.parent = "providers/acme"
                $0.pageSize = 1
            }, token: serverToken)
        let tasks = try await self.engine.perform(
            ListTasks.self,
            .with {
                $0.parent = "providers/acme"
                $0.pageSize = 1
            }, token: deliveryToken)
        self.pageTokens = [vehicles.nextPageToken, tasks.nextPageToken]
    }
}

/// What a caller says of itself.
struct FuzzCaller {
    /// The values of the `Authorization` header or metadata.
    let authorization: [String]

    init(of collection: String, _ random: inout SeededGenerator) {
        let isDelivery = ["deliveryVehicles", "tasks", "taskTrackingInfo"].contains(collection)
        let usual = "Bearer " + (isDelivery ? deliveryToken : serverToken)
        switch random.below(40) {
        case 0: self.authorization = []
        case 1: self.authorization = [usual, usual]
        case 2:
            self.authorization = [random.pick(["", "Bearer", "Bearer ", "Basic YTpi", "Bearer a b", "bearer bad|"])]
        case 3: self.authorization = ["Bearer driver|vehicleid=veh-1", "x"].dropLast(random.below(2))
        case 4, 5:
            let tokens = [
                "driver|vehicleid=veh-1", "consumer|tripid=trip-1", "delivery_untrusted_driver|deliveryvehicleid=dv-1",
                "delivery_consumer|trackingid=shp-1", "fleet_reader|vehicleid=*|taskid=*", "ondemand_admin",
                "delivery_server|taskids=task-1,new-1", "gardener|vehicleid=*", "server|vehicleid=veh-1|tripid=\u{0}",
                "\u{202E}", "server|vehicleid=" + String(repeating: "a", count: 300),
            ]
            self.authorization = ["bEARER  " + random.pick(tokens)]
        default: self.authorization = [usual]
        }
    }
}
