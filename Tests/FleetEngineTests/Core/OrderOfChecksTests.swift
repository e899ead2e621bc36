// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct OrderOfChecksTests {
    /// A mask of 64 KiB of marks took seconds to compare; the suite would not end with 8 MiB of them.
    @Test func `a request with endless marks is refused before it is compared, to those whose token is good`()
        async throws
    {
        let fixture = EngineFixture()
        let endless = "x" + String(repeating: "\u{301}\u{323}", count: 2_000_000)
        func outcome(_ token: String?, _ change: (inout UpdateVehicle.Request) -> Void) async -> EngineError.Code? {
            var request = UpdateVehicle.Request()
            change(&request)
            return await code { [request] in
                try await fixture.engine.perform(UpdateVehicle.self, request, token: token)
            }
        }
        for token in [nil, "bad"] {
            #expect(await outcome(token) { $0.updateMask.paths = [endless] } == .unauthenticated)
        }
        for token in [serverToken, "driver|vehicleid=v"] {
            #expect(await outcome(token) { $0.name = endless } == .invalidArgument)
            #expect(await outcome(token) { $0.updateMask.paths = ["vehicle_state", endless] } == .invalidArgument)
            #expect(
                await outcome(token) { $0.vehicle.waypoints = [.with { $0.tripID = endless }] } == .invalidArgument)
        }
    }

    /// A request with every fault at once, mended one by one, meets the checks in their order.
    @Test func `token, name, access, fields, existence, state are checked in this order`() async throws {
        let fixture = EngineFixture()
        func outcome(name: String, mask: [String], token: String?) async -> EngineError.Code? {
            await code {
                try await fixture.engine.perform(
                    UpdateTrip.self,
                    .with {
                        $0.name = name
                        $0.trip.tripStatus = .enrouteToPickup
                        $0.updateMask.paths = mask
                    },
                    token: token
                )
            }
        }
        #expect(await outcome(name: "trips/x", mask: ["name"], token: nil) == .unauthenticated)
        #expect(await outcome(name: "trips/x", mask: ["name"], token: "bad") == .unauthenticated)
        #expect(await outcome(name: "trips/x", mask: ["name"], token: "consumer|tripid=t") == .invalidArgument)
        let name = "providers/acme/trips/t"
        #expect(await outcome(name: name, mask: ["name"], token: "consumer|tripid=t") == .permissionDenied)
        #expect(await outcome(name: name, mask: ["name"], token: serverToken) == .invalidArgument)
        #expect(await outcome(name: name, mask: ["trip_status"], token: serverToken) == .notFound)
        try await fixture.createTrip("t")
        try await fixture.updateTrip("t", ["trip_status"]) { $0.tripStatus = .complete }
        #expect(await outcome(name: name, mask: ["trip_status"], token: serverToken) == .failedPrecondition)
    }

    /// Why a call with an id in a field of its own is refused.
    private static func reason(
        _ method: FleetMethod, _ id: String, in parent: String, to engine: Engine, token: String
    ) async -> String? {
        func perform<Call: EngineCall>(_ call: Call.Type, _ request: Call.Request) async -> String? {
            do throws(EngineError) {
                _ = try await engine.perform(call, request, token: token)
                return nil
            } catch {
                return error.reason
            }
        }
        return switch method {
        case .createVehicle:
            await perform(
                CreateVehicle.self,
                .with {
                    $0.parent = parent
                    $0.vehicleID = id
                })
        case .createTrip:
            await perform(
                CreateTrip.self,
                .with {
                    $0.parent = parent
                    $0.tripID = id
                })
        case .createDeliveryVehicle:
            await perform(
                CreateDeliveryVehicle.self,
                .with {
                    $0.parent = parent
                    $0.deliveryVehicleID = id
                })
        case .createTask:
            await perform(
                CreateTask.self,
                .with {
                    $0.parent = parent
                    $0.taskID = id
                })
        case .batchCreateTasks:
            await perform(
                BatchCreateTasks.self,
                .with {
                    $0.parent = parent
                    $0.requests = [.with { $0.taskID = id }]
                })
        case .searchVehicles:
            await perform(
                SearchVehicles.self,
                .with {
                    $0.parent = parent
                    $0.tripID = id
                })
        case .searchTrips:
            await perform(
                SearchTrips.self,
                .with {
                    $0.parent = parent
                    $0.vehicleID = id
                })
        default: nil
        }
    }

    @Test(arguments: [
        FleetMethod.createVehicle, .createTrip, .createDeliveryVehicle, .createTask, .batchCreateTasks,
        .searchVehicles, .searchTrips,
    ])
    func `an id in a field of its own is read after provider and role were checked`(method: FleetMethod) async {
        let engine = EngineFixture().engine
        let isSearch = method == .searchVehicles || method == .searchTrips
        let stranger = method.isDelivery ? "consumer|tripid=t" : "delivery_consumer|trackingid=s"
        let role = method.isDelivery ? "delivery_server" : "server"
        let claims = method.isDelivery ? "deliveryvehicleid=*|taskid=*" : "vehicleid=*|tripid=*"
        let backend = "\(role)|\(method == .batchCreateTasks ? "taskids=*" : claims)"
        // A search may do without an id.
        for id in isSearch ? ["a:b"] : ["", "a:b"] {
            func reason(_ parent: String, _ token: String) async -> String? {
                await Self.reason(method, id, in: parent, to: engine, token: token)
            }
            #expect(await reason("trips/x", stranger) == "INVALID_ARGUMENT")
            #expect(await reason("providers/other", stranger) == "PROVIDER_MISMATCH")
            #expect(await reason("providers/other", backend) == "PROVIDER_MISMATCH")
            #expect(await reason("providers/acme", stranger) == "ROLE_LACKS_PERMISSION")
            #expect(await reason("providers/acme", role) == "CLAIMS_MISSING")
            #expect(await reason("providers/acme", backend) == "INVALID_ARGUMENT")
        }
    }

    @Test func `a new trip's order of stops is judged by role before the vehicle's id is read`() async {
        let fixture = EngineFixture()
        let trip = Trip.with(.sample) {
            $0.vehicleID = "a/b"
            $0.vehicleWaypoints = .stops(of: "t")
        }
        func outcome(_ token: String) async -> EngineError.Code? {
            await code { try await fixture.createTrip("t", trip, token: token) }
        }
        #expect(await outcome("driver|vehicleid=v") == .permissionDenied)
        #expect(await outcome(serverToken) == .invalidArgument)
    }

    @Test func `a driver's update of its trip without a mask is a wrong argument`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        try await fixture.createTrip("t", .with(.sample) { $0.vehicleID = "veh-1" })
        #expect(
            await code { try await fixture.updateTrip("t", [], token: "driver|vehicleid=veh-1") } == .invalidArgument)
    }

    @Test func `a creation is refused for its fields before it is refused for its id`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        #expect(await code { try await fixture.createVehicle("veh-1", Vehicle()) } == .invalidArgument)
        #expect(await code { try await fixture.createVehicle("veh-1") } == .alreadyExists)
        try await fixture.createTrip("trip-1")
        #expect(await code { try await fixture.createTrip("trip-1", Trip()) } == .invalidArgument)
        #expect(await code { try await fixture.createTrip("trip-1") } == .alreadyExists)
    }

    @Test func `a request without what it is to write is refused by the name of that`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        try await fixture.createTrip("trip-1")
        func field<Call: EngineCall>(
            _ call: Call.Type, token: String = serverToken, _ change: (inout Call.Request) -> Void
        ) async -> String? {
            var request = Call.Request()
            change(&request)
            do throws(EngineError) {
                _ = try await fixture.engine.perform(call, request, token: token)
                return nil
            } catch {
                return error.metadata["field"]
            }
        }
        let vehicle = await field(CreateVehicle.self) {
            $0.parent = "providers/acme"
            $0.vehicleID = "veh-2"
        }
        #expect(vehicle == "vehicle")
        let trip = await field(CreateTrip.self) {
            $0.parent = "providers/acme"
            $0.tripID = "trip-2"
        }
        #expect(trip == "trip")
        let task = await field(CreateTask.self, token: deliveryToken) {
            $0.parent = "providers/acme"
            $0.taskID = "task-1"
        }
        #expect(task == "task")
        let batch = await field(BatchCreateTasks.self, token: "delivery_server|taskids=*") {
            $0.parent = "providers/acme"
            $0.requests = [.with { $0.taskID = "task-1" }]
        }
        #expect(batch == "requests[0].task")
        // What the mask names would be cleared.
        let changedVehicle = await field(UpdateVehicle.self) {
            $0.name = "providers/acme/vehicles/veh-1"
            $0.updateMask = .of("attributes")
        }
        #expect(changedVehicle == "vehicle")
        let changedTrip = await field(UpdateTrip.self) {
            $0.name = "providers/acme/trips/trip-1"
            $0.updateMask = .of("attributes")
        }
        #expect(changedTrip == "trip")
    }

    @Test func `an update of a missing vehicle is refused for its fields first`() async throws {
        let fixture = EngineFixture()
        #expect(
            await code { try await fixture.updateVehicle("veh-1", ["maximum_capacity"]) } == .invalidArgument)
        #expect(
            await code { try await fixture.updateVehicle("veh-1", ["maximum_capacity"]) { $0.maximumCapacity = 1 } }
                == .notFound)
    }

    @Test func `an update of a missing trip is refused for its fields first`() async throws {
        let fixture = EngineFixture()
        let faults: [(String, (inout Trip) -> Void)] = [
            ("trip_status", { $0.tripStatus = .unknownTripStatus }), ("vehicle_id", { $0.vehicleID = "a/b" }),
            ("pickup_point", { _ in }), ("dropoff_point", { $0.dropoffPoint = .at(0, 181) }),
        ]
        for (field, fault) in faults {
            #expect(await code { try await fixture.updateTrip("t", [field], fault) } == .invalidArgument, "\(field)")
        }
        #expect(
            await code { try await fixture.updateTrip("t", ["vehicle_id"]) { $0.vehicleID = "v" } } == .notFound)
    }

    @Test func `an update of an ended trip is refused for a vehicle that is not there first`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        try await fixture.createTrip("t")
        try await fixture.updateTrip("t", ["trip_status"]) { $0.tripStatus = .canceled }
        func outcome(_ vehicle: String) async -> EngineError.Code? {
            await code { try await fixture.updateTrip("t", ["vehicle_id"]) { $0.vehicleID = vehicle } }
        }
        #expect(await outcome("a/b") == .invalidArgument)
        #expect(await outcome("none") == .notFound)
        #expect(await outcome("veh-1") == .failedPrecondition)
    }

    @Test func `a part of what is not there is not found, whatever else the whole would need`() async throws {
        let fixture = EngineFixture()
        #expect(
            await code {
                try await fixture.updateVehicle("veh-1", ["last_location.heading", "license_plate.last_character"])
            } == .notFound)
        // What is named whole can be judged all the same.
        #expect(
            await code { try await fixture.updateVehicle("veh-1", ["last_location.heading", "maximum_capacity"]) }
                == .invalidArgument)
        #expect(await code { try await fixture.updateTrip("t", ["pickup_point.point"]) } == .notFound)
        #expect(
            await code { try await fixture.updateTrip("t", ["pickup_point.point", "trip_status"]) } == .invalidArgument)
        let update = UpdateDeliveryVehicle.Request.with {
            $0.deliveryVehicle.name = "providers/acme/deliveryVehicles/dv-1"
            $0.updateMask = .of("last_location.heading")
        }
        #expect(
            await code {
                try await fixture.engine.perform(UpdateDeliveryVehicle.self, update, token: deliveryToken)
            } == .notFound)
    }

    @Test func `a mask is read before the store is asked`() async throws {
        let engine = Engine(store: UnreachableStore(), verifier: TextVerifier())
        let vehicle = UpdateVehicle.Request.with {
            $0.name = "providers/acme/vehicles/v"
            $0.updateMask = .of("nonsense")
        }
        let trip = UpdateTrip.Request.with {
            $0.name = "providers/acme/trips/t"
            $0.updateMask = .of("nonsense")
        }
        let delivery = UpdateDeliveryVehicle.Request.with {
            $0.deliveryVehicle.name = "providers/acme/deliveryVehicles/v"
            $0.updateMask = .of("nonsense")
        }
        #expect(
            await code { try await engine.perform(UpdateVehicle.self, vehicle, token: serverToken) }
                == .invalidArgument)
        #expect(await code { try await engine.perform(UpdateTrip.self, trip, token: serverToken) } == .invalidArgument)
        #expect(
            await code { try await engine.perform(UpdateDeliveryVehicle.self, delivery, token: deliveryToken) }
                == .invalidArgument)
        // Whether a driver reaches the trip is told first, and only the store knows.
        #expect(
            await code { try await engine.perform(UpdateTrip.self, trip, token: "driver|vehicleid=v") }
                == .internalError)
    }

    @Test(arguments: [
        "", "providers/acme", "providers/acme/vehicles/", "providers/acme/trips/t", "vehicles/v",
        "providers/acme/vehicles/a:b", "providers/acme/vehicles/*", "providers/acme/vehicles/a/b",
        "providers/acme/vehicles/" + String(repeating: "v", count: 65),
    ])
    func `a malformed vehicle name is an invalid argument`(name: String) async {
        let outcome = await code {
            try await EngineFixture().engine.perform(GetVehicle.self, .with { $0.name = name }, token: serverToken)
        }
        #expect(outcome == .invalidArgument)
    }

    @Test func `two spellings of one id are one vehicle`() async throws {
        let fixture = EngineFixture()
        let created = try await fixture.createVehicle("caf\u{65}\u{301}")
        #expect(Array(created.name.unicodeScalars) == Array("providers/acme/vehicles/caf\u{e9}".unicodeScalars))
        #expect(try await fixture.vehicle("caf\u{e9}").name == created.name)
    }

    @Test func `a call that no vehicle could open is refused before the store is asked`() async throws {
        let engine = Engine(store: UnreachableStore(), verifier: TextVerifier())
        for token in ["consumer|tripid=other", "driver", "delivery_server|taskid=*", "server|vehicleid=v"] {
            let outcome = await code {
                try await engine.perform(
                    UpdateTrip.self,
                    .with {
                        $0.name = "providers/acme/trips/t"
                        $0.updateMask = .of("trip_status")
                    },
                    token: token
                )
            }
            // The last token's claim may reach the trip, so the store must say.
            #expect(outcome == (token.hasPrefix("server") ? .internalError : .permissionDenied))
        }
    }

    @Test func `a failure of the store is told without its detail`() async throws {
        let engine = Engine(store: UnreachableStore(), verifier: TextVerifier())
        let error = await #expect(throws: EngineError.self) {
            try await engine.perform(
                GetVehicle.self, .with { $0.name = "providers/acme/vehicles/v" }, token: serverToken)
        }
        #expect(error?.code == .internalError)
        #expect(error?.message.contains("wire") == false)
    }
}

private struct UnreachableStore: EngineStore {
    struct Broken: Error, CustomStringConvertible { var description: String { "the wire is cut" } }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineReader) throws -> Result
    ) async throws -> Result { throw Broken() }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineTransaction) throws -> Result
    ) async throws -> Result { throw Broken() }
}
