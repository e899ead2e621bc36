// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTestSupport
import FleetTokens
import SwiftProtobuf

@testable import FleetEngine

/// An engine with some of everything, for requests to meet.
struct FuzzWorld: Sendable {
    /// It serves so many requests before a new one takes over, so that what it keeps does not grow without end.
    static let requests: UInt64 = 2000

    let engine: Engine
    /// What follows the first pages of lists of this engine.
    let pages: [FuzzPage]

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
        let (engine, parent) = (self.engine, "providers/acme")
        var pages: [FuzzPage] = []
        for filter in ["", "NOT attributes.class = x"] {
            pages += [
                try await FuzzPage(of: ListVehicles.self, filter, on: engine, serverToken, \.nextPageToken) {
                    ($0.parent, $0.filter) = (parent, filter)
                },
                try await FuzzPage(of: ListDeliveryVehicles.self, filter, on: engine, deliveryToken, \.nextPageToken) {
                    ($0.parent, $0.filter) = (parent, filter)
                },
                try await FuzzPage(of: ListTasks.self, filter, on: engine, deliveryToken, \.nextPageToken) {
                    ($0.parent, $0.filter) = (parent, filter)
                },
            ]
        }
        pages.append(
            try await FuzzPage(of: SearchTrips.self, "", on: engine, serverToken, \.nextPageToken) {
                $0.parent = parent
            })
        self.pages = pages
    }
}

/// The second page of a list that asks for nothing but its parent and a filter.
struct FuzzPage: Sendable {
    /// The full name of the list's request.
    let request: String
    /// The filter; empty for none.
    let filter: String
    /// The token that the first page gave.
    let token: String

    /// Asks for the first page, of one resource.
    init<List: EngineCall>(
        of list: List.Type, _ filter: String, on engine: Engine, _ token: String, _ next: (List.Response) -> String,
        _ ask: (inout List.Request) -> Void
    ) async throws where List.Request: PagedRequest {
        var request = List.Request()
        ask(&request)
        request.pageSize = 1
        self.request = List.Request.protoMessageName
        self.filter = filter
        self.token = next(try await engine.perform(list, request, token: token))
    }
}

/// What a caller says of itself.
struct FuzzCaller {
    /// The values of the `Authorization` header or metadata.
    let authorization: [String]

    /// Draws one: most often a caller who may make the call.
    init(of rule: HTTPRule, _ fuzz: inout MessageFuzz) {
        // Only what is wild holds what cannot stand in a header field of HTTP.
        self.init(of: rule, isPlain: fuzz.wildness == 0, &fuzz.random)
    }

    private init(of rule: HTTPRule, isPlain: Bool, _ random: inout SeededGenerator) {
        let isDelivery = ["deliveryVehicles", "tasks", "taskTrackingInfo"].contains(rule.collection)
        let batchToken = "delivery_server|taskids=*"
        let usual =
            "Bearer " + (rule.method == .batchCreateTasks ? batchToken : isDelivery ? deliveryToken : serverToken)
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
                "delivery_server|taskids=task-1,new-1", "gardener|vehicleid=*",
                "server|vehicleid=" + String(repeating: "a", count: 300),
            ]
            let odd = ["server|vehicleid=veh-1|tripid=\u{0}", "\u{202E}"]
            self.authorization = ["bEARER  " + random.pick(isPlain ? tokens : tokens + odd)]
        default: self.authorization = [usual]
        }
    }
}
