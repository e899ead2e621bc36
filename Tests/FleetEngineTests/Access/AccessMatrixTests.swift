// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf
import Testing

@testable import FleetEngine

/// Walks every cell of role × call × claim through the running engine.
@Suite(.timeLimit(.minutes(60))) struct AccessMatrixTests {
    /// Makes a world of three vehicles, trips, delivery vehicles and tasks each.
    ///
    /// The first and the second of each kind belong together, the third is idle. What a call changes is taken back.
    static func withWorld<Result: Sendable>(
        _ kind: StoreKind, _ body: (Engine) async throws -> Result
    ) async throws -> Result {
        try await kind.withStore { store in
            let world = DeliveryWorld(store: store)
            let direct = DirectWire(engine: world.engine)
            for number in 1...3 {
                var target = AccessTarget(of: .getTrip)
                target.vehicle = "veh-\(number)"
                _ = try await direct.send(target.calls(.createVehicle)[0], authorization: "Bearer \(serverToken)")
                let trip = CreateTrip.Request.with {
                    $0.parent = "providers/acme"
                    $0.tripID = "trip-\(number)"
                    $0.trip = .sample
                    if number < 3 { $0.trip.vehicleID = "veh-\(number)" }
                }
                _ = try await direct.send(.createTrip(trip), authorization: "Bearer \(serverToken)")
                try await world.createVehicle("dv-\(number)")
                try await world.createTask("task-\(number)", tracking: "shp-\(number)")
                if number < 3 { try await world.plan("dv-\(number)", [["task-\(number)"]]) }
            }
            let clock = world.clock
            return try await body(
                Engine(store: DryRunStore(store: store), verifier: TextVerifier(), now: { clock.now }))
        }
    }

    /// How an operation ends for a token: `nil` where all its calls succeed.
    private static func outcome(
        _ operation: AccessCell.Operation, at target: AccessTarget, token: String, over client: any WireClient
    ) async throws -> [WireFailure?] {
        var outcomes: [WireFailure?] = []
        for call in target.calls(operation) {
            outcomes.append(try await client.failure(of: call, authorization: "Bearer \(token)"))
        }
        return outcomes
    }

    @Test(arguments: StoreKind.allCases, EntryPoint.allCases)
    func `every cell of the matrix is as published`(kind: StoreKind, entry: EntryPoint) async throws {
        try await Self.withWorld(kind) { engine in
            try await entry.withClient(of: engine) { client in
                for role in AccessCell.roles {
                    for operation in AccessCell.Operation.allCases {
                        let target = AccessTarget(of: operation)
                        for claim in AccessCell.Claim.allCases {
                            let token = AccessCell.token(role, claim, for: target)
                            let outcomes = try await Self.outcome(operation, at: target, token: token, over: client)
                            let expected = AccessCell.isAllowed(role, operation, claim) ? nil : "PERMISSION_DENIED"
                            if !outcomes.allSatisfy({ $0?.status == expected }) {
                                let seen = outcomes.map { $0?.status ?? "OK" }
                                Issue.record("\(role) with \(claim) calling \(operation): \(seen)")
                            }
                        }
                    }
                }
            }
        }
    }

    @Test(arguments: WireSetup.all)
    func `the matrix holds over the wire`(setup: WireSetup) async throws {
        try await Self.withWorld(setup.store) { engine in
            try await setup.withClient(of: engine) { client in
                for role in AccessCell.roles {
                    for operation in AccessCell.Operation.allCases {
                        let target = AccessTarget(of: operation)
                        let allowed = AccessCell.Claim.allCases.first { AccessCell.isAllowed(role, operation, $0) }
                        let denied = AccessCell.Claim.allCases.last { !AccessCell.isAllowed(role, operation, $0) }
                        for claim in [allowed, denied].compactMap(\.self) {
                            let token = AccessCell.token(role, claim, for: target)
                            let outcomes = try await Self.outcome(operation, at: target, token: token, over: client)
                            let expected = claim == allowed ? nil : "PERMISSION_DENIED"
                            #expect(
                                outcomes.allSatisfy { $0?.status == expected },
                                "\(role) with \(claim) calling \(operation): \(outcomes.map { $0?.status ?? "OK" })"
                            )
                        }
                    }
                }
            }
        }
    }

    @Test func `a caller without access cannot tell whether a resource exists`() async throws {
        try await Self.withWorld(.memory) { engine in
            let client = DirectWire(engine: engine)
            for role in AccessCell.roles {
                for operation in AccessCell.Operation.allCases {
                    let target = AccessTarget(of: operation), nowhere = AccessTarget.nowhere(for: operation)
                    for claim in AccessCell.Claim.allCases where !AccessCell.isAllowed(role, operation, claim) {
                        let token = AccessCell.token(role, claim, for: target)
                        let known = try await Self.outcome(operation, at: target, token: token, over: client)
                        let unknown = try await Self.outcome(operation, at: nowhere, token: token, over: client)
                        #expect(known == unknown, "\(role) with \(claim) calling \(operation)")
                    }
                }
            }
        }
    }

    @Test func `the operations call every method of the services`() {
        let calls = AccessCell.Operation.allCases.flatMap { AccessTarget(of: $0).calls($0) }
        let methods = Set(calls.compactMap { Mirror(reflecting: $0).children.first?.label })
        #expect(methods.count == FleetMethod.allCases.count)
    }

    /// A world in which veh-1 has trip-1 and veh-2 has trip-2.
    private static func fixture() async throws -> EngineFixture {
        let fixture = EngineFixture()
        for number in 1...2 {
            try await fixture.createVehicle("veh-\(number)")
            var trip = Trip.sample
            trip.vehicleID = "veh-\(number)"
            try await fixture.createTrip("trip-\(number)", trip)
        }
        return fixture
    }

    @Test func `a driver reaches the trips of its vehicle as long as they are assigned to it`() async throws {
        let fixture = try await Self.fixture()
        let token = "driver|vehicleid=veh-1"
        #expect(await code { try await fixture.trip("trip-1", token: token) } == nil)
        #expect(await code { try await fixture.trip("trip-2", token: token) } == .permissionDenied)
        try await fixture.updateTrip("trip-2", ["vehicle_id"]) { $0.vehicleID = "veh-1" }
        #expect(await code { try await fixture.trip("trip-2", token: token) } == nil)
        try await fixture.updateTrip("trip-1", ["vehicle_id"])
        #expect(await code { try await fixture.trip("trip-1", token: token) } == .permissionDenied)
    }

    @Test func `a driver cannot give its trip to another vehicle, nor away`() async throws {
        let fixture = try await Self.fixture()
        let token = "driver|vehicleid=veh-1"
        func assign(_ vehicle: String, _ path: String) async -> EngineError.Code? {
            await code { try await fixture.updateTrip("trip-1", [path], token: token) { $0.vehicleID = vehicle } }
        }
        for path in ["vehicle_id", "vehicleId"] {
            #expect(await assign("veh-2", path) == .permissionDenied)
            // Whether the other vehicle exists stays untold.
            #expect(await assign("nobody", path) == .permissionDenied)
            #expect(await assign("", path) == .permissionDenied)
        }
        #expect(try await fixture.vehicle("veh-2").currentTrips == ["trip-2"])
        #expect(try await fixture.vehicle("veh-1").currentTrips == ["trip-1"])
    }

    @Test func `the order of a vehicle's stops takes through a trip what it takes through the vehicle`() async throws {
        let fixture = try await Self.fixture()
        func order(_ token: String, _ mask: [String] = ["vehicle_waypoints"]) async -> EngineError.Code? {
            await code { try await fixture.updateTrip("trip-1", mask, token: token) { $0.vehicleID = "veh-2" } }
        }
        for token in ["driver|vehicleid=veh-1", "driver|tripid=trip-1", "server|tripid=trip-1", "server|tripid=*"] {
            #expect(await order(token) == .permissionDenied, "\(token)")
            #expect(await order(token, ["vehicleWaypoints"]) == .permissionDenied, "\(token)")
        }
        #expect(await order("server|vehicleid=veh-1") == nil)
        #expect(await order("server|vehicleid=veh-2") == .permissionDenied)
        // An update that gives the trip to a vehicle puts that vehicle's stops in order.
        let both = ["vehicle_id", "vehicle_waypoints"]
        #expect(await order("server|vehicleid=veh-1|tripid=trip-1", both) == .permissionDenied)
        #expect(await order("server|vehicleid=veh-2|tripid=trip-1", both) == nil)
        #expect(try await fixture.vehicle("veh-2").currentTrips.contains("trip-1"))
    }

    @Test func `the order of a vehicle's stops takes the same through a new trip, and a trip without one no more`()
        async throws
    {
        let fixture = try await Self.fixture()
        func create(
            _ id: String, _ token: String, in order: [String], for vehicle: String = "veh-1"
        ) async -> EngineError.Code? {
            let trip = Trip.with(.sample) {
                $0.vehicleID = vehicle
                $0.vehicleWaypoints = order.flatMap { [TripWaypoint].stops(of: $0) }
            }
            return await code { try await fixture.createTrip(id, trip, token: token) }
        }
        let tokens = ["server|tripid=new", "server|tripid=*", "server|tripid=new|vehicleid=veh-2"]
        for token in tokens + ["server|vehicleid=veh-1"] {
            #expect(await create("new", token, in: ["new", "trip-1"]) == .permissionDenied, "\(token)")
        }
        #expect(try await fixture.vehicle("veh-1").waypoints.map(\.tripID) == ["trip-1", "trip-1"])
        #expect(await create("new", "server|tripid=new|vehicleid=veh-1", in: ["new", "trip-1"]) == nil)
        #expect(try await fixture.vehicle("veh-1").waypoints.map(\.tripID) == ["new", "new", "trip-1", "trip-1"])
        // One that comes last by itself orders nothing.
        #expect(await create("last", "server|tripid=last", in: []) == nil)
        // Without a vehicle there is nothing to order.
        #expect(await create("free", "server|tripid=free", in: ["free"], for: "") == nil)
        #expect(await create("odd", "server|tripid=odd", in: ["odd"], for: "a/b") == .invalidArgument)
        func order(_ token: String, _ mask: [String] = ["vehicle_waypoints"]) async -> EngineError.Code? {
            await code { try await fixture.updateTrip("free", mask, token: token) { $0 = .sample } }
        }
        for mask in [["vehicle_waypoints"], ["vehicleWaypoints"], ["vehicle_waypoints", "dropoff_point"]] {
            #expect(await order("server|tripid=free", mask) == nil, "\(mask)")
            #expect(await order("server|tripid=last", mask) == .permissionDenied)
            #expect(await order("driver|tripid=free", mask) == .permissionDenied)
        }
        #expect(try await fixture.vehicle("veh-1").waypoints.last?.tripID == "last")
    }

    @Test func `the stops behind a trip are shown in an answer only to who may read the vehicle`() async throws {
        let fixture = EngineFixture()
        for vehicle in ["veh-1", "veh-2"] { try await fixture.createVehicle(vehicle) }
        func create(_ id: String, token: String = serverToken) async throws -> Trip {
            try await fixture.createTrip(id, .with(.sample) { $0.vehicleID = "veh-1" }, token: token)
        }
        // Stops before its own are on a trip's way, and GetTrip shows them too.
        #expect(try await create("mine", token: "server|tripid=mine").vehicleWaypoints.count == 2)
        #expect(try await create("other", token: "server|tripid=other").vehicleWaypoints.count == 4)
        #expect(try await create("third").vehicleWaypoints.count == 6)
        func stops(_ token: String) async throws -> [String] {
            let answer = try await fixture.updateTrip("mine", ["attributes"], token: token)
            #expect(answer.remainingWaypoints.map(\.tripID) == ["mine", "mine"])
            return answer.vehicleWaypoints.map(\.tripID)
        }
        let narrow = [
            "server|tripid=mine", "server|tripid=*", "driver|tripid=mine", "server|tripid=mine|vehicleid=veh-2",
        ]
        for token in narrow { #expect(try await stops(token) == ["mine", "mine"], "\(token)") }
        let whole = ["mine", "mine", "other", "other", "third", "third"]
        let wide = [
            "server|vehicleid=veh-1", "server|vehicleid=*", "driver|vehicleid=veh-1", "driver|vehicleid=*",
            "server|tripid=mine|vehicleid=veh-1", serverToken, "ondemand_admin",
        ]
        for token in wide { #expect(try await stops(token) == whole, "\(token)") }
        // What counts is the vehicle that the trip has by then.
        for trip in ["mine", "other"] {
            try await fixture.updateTrip(trip, ["vehicle_id"]) { $0.vehicleID = "veh-2" }
        }
        #expect(try await stops("driver|tripid=mine|vehicleid=veh-1") == ["mine", "mine"])
        #expect(try await stops("driver|tripid=mine|vehicleid=veh-2") == ["mine", "mine", "other", "other"])
    }

    @Test func `an order of stops is decided by what explain and clients decide by`() async throws {
        let fixture = try await Self.fixture()
        try await fixture.createTrip("free")
        let tokens = [
            "server|tripid=free", "server|tripid=trip-1", "server|tripid=*", "server|vehicleid=veh-1",
            "server|vehicleid=veh-2", "server|vehicleid=*", "server|tripid=free|vehicleid=veh-2",
        ]
        let trips: [(id: String, vehicle: String?)] = [("free", nil), ("trip-1", "veh-1")]
        for (trip, vehicle) in trips {
            for mask in [["vehicle_waypoints"], ["vehicleWaypoints", "dropoff_point"]] {
                var access = AccessRequest(
                    method: .updateTrip, resource: try ResourceName(checking: "providers/acme/trips/\(trip)"),
                    maskedFields: mask)
                access.vehicleOfTrip = vehicle.flatMap { VehicleID($0) }
                // A vehicle that is known leaves no way round the claim of it.
                #expect((access.withoutOrder == nil) == (vehicle != nil))
                let decisive = access.withoutOrder ?? access
                for token in tokens {
                    let examined = try TextVerifier().verify(token, at: fixture.clock.now)
                    let isOpen = (try? decisive.authorize(examined)) != nil
                    let expected: EngineError.Code? = isOpen ? nil : .permissionDenied
                    let outcome = await code {
                        try await fixture.updateTrip(trip, mask, token: token) { $0.dropoffPoint = .at(37.46, -122.07) }
                    }
                    #expect(outcome == expected, "\(trip) \(mask) \(token)")
                }
            }
        }
    }

    @Test func `an account of another provider is refused everywhere`() async throws {
        let fixture = EngineFixture()
        let outcome = await code {
            try await fixture.engine.perform(
                GetVehicle.self, .with { $0.name = "providers/other/vehicles/veh-1" }, token: serverToken)
        }
        #expect(outcome == .permissionDenied)
    }
}

extension [TripWaypoint] {
    /// The stops of a trip from its pickup to its drop-off, as a request names them.
    static func stops(of trip: String) -> Self {
        [Maps_Fleetengine_V1_WaypointType.pickupWaypointType, .dropOffWaypointType].map { type in
            .with {
                $0.tripID = trip
                $0.waypointType = type
            }
        }
    }
}
