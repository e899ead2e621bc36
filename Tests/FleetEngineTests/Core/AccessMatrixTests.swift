// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf
import Testing

@testable import FleetEngine

/// Walks every cell of role × call × claim through the running engine.
///
/// What is expected is written out from the published roles and validation scripts, not computed from the engine's table.
@Suite struct AccessMatrixTests {
    /// A call, or a group of masked fields of one.
    enum Operation: String, CaseIterable {
        case createVehicle, getVehicle, updateVehicleLocation, updateVehicleState, updateVehicleOther
        case updateVehicleMixed, updateVehicleAttributes, searchVehicles, createTrip, getTrip, updateTripFields
        case updateTripStatus, updateTripMixed
    }

    /// What the token claims, seen from the resource that is called.
    enum Claim: String, CaseIterable {
        case ownVehicle, otherVehicle, everyVehicle, ownTrip, otherTrip, everyTrip, everything, none
    }

    static let roles = [
        "consumer", "driver", "server", "fleet_reader", "ondemand_admin", "delivery_consumer",
        "delivery_untrusted_driver", "delivery_trusted_driver", "delivery_fleet_reader", "delivery_server",
        "delivery_admin", "gardener",
    ]

    /// The claims that open an operation, for the roles that have the permission.
    static let vehicleClaims: Set<Claim> = [.ownVehicle, .everyVehicle, .everything]
    static let tripClaims: Set<Claim> = [.ownTrip, .everyTrip, .everything]
    static let tripOrVehicleClaims: Set<Claim> = [
        .ownTrip, .everyTrip, .everything, .ownVehicle, .everyVehicle,
    ]
    static let searchClaims: Set<Claim> = [
        .ownVehicle, .otherVehicle, .everyVehicle, .ownTrip, .everyTrip, .everything,
    ]
    static let all = Set(Claim.allCases)

    /// Role by operation; what is not listed is denied whatever the claim.
    static let allowed: [String: [Operation: Set<Claim>]] = [
        "consumer": [
            .getVehicle: vehicleClaims,
            .searchVehicles: searchClaims,
            .getTrip: tripOrVehicleClaims,
        ],
        "driver": [
            .getVehicle: vehicleClaims,
            .updateVehicleLocation: vehicleClaims,
            .updateVehicleState: vehicleClaims,
            .getTrip: tripOrVehicleClaims,
            .updateTripFields: tripOrVehicleClaims,
        ],
        "server": [
            .createVehicle: vehicleClaims,
            .getVehicle: vehicleClaims,
            .updateVehicleLocation: vehicleClaims,
            .updateVehicleState: vehicleClaims,
            .updateVehicleOther: vehicleClaims,
            .updateVehicleMixed: vehicleClaims,
            .updateVehicleAttributes: vehicleClaims,
            .searchVehicles: searchClaims,
            .createTrip: tripClaims,
            .getTrip: tripOrVehicleClaims,
            .updateTripFields: tripOrVehicleClaims,
            .updateTripStatus: tripOrVehicleClaims,
            .updateTripMixed: tripOrVehicleClaims,
        ],
        "fleet_reader": [
            .getVehicle: vehicleClaims,
            .searchVehicles: searchClaims,
            .getTrip: tripOrVehicleClaims,
        ],
        "ondemand_admin": Dictionary(uniqueKeysWithValues: Operation.allCases.map { ($0, all) }),
    ]

    static func token(_ role: String, _ claim: Claim) -> String {
        switch claim {
        case .ownVehicle: "\(role)|vehicleid=veh-1"
        case .otherVehicle: "\(role)|vehicleid=veh-2"
        case .everyVehicle: "\(role)|vehicleid=*"
        case .ownTrip: "\(role)|tripid=trip-1"
        case .otherTrip: "\(role)|tripid=trip-2"
        case .everyTrip: "\(role)|tripid=*"
        case .everything: "\(role)|vehicleid=*|tripid=*"
        case .none: role
        }
    }

    /// A world in which veh-1 has trip-1 and veh-2 has trip-2.
    static func world() async throws -> EngineFixture {
        let fixture = EngineFixture()
        for number in 1...2 {
            try await fixture.createVehicle("veh-\(number)")
            var trip = Trip.sample
            trip.vehicleID = "veh-\(number)"
            try await fixture.createTrip("trip-\(number)", trip)
        }
        return fixture
    }

    static func call(
        _ operation: Operation, _ fixture: EngineFixture, token: String, vehicle: String = "veh-1",
        trip: String = "trip-1"
    ) async throws {
        switch operation {
        case .createVehicle:
            try await fixture.createVehicle(vehicle, token: token)
        case .getVehicle: _ = try await fixture.vehicle(vehicle, token: token)
        case .updateVehicleLocation:
            try await fixture.updateVehicle(
                vehicle,
                [
                    "last_location", "past_locations", "device_settings", "navigation_status",
                    "current_route_segment", "current_route_segment_end_point", "current_route_segment_traffic",
                    "eta_to_first_waypoint", "remaining_time_seconds", "remaining_distance_meters",
                ],
                token: token
            ) { $0.lastLocation = .at(37.42, -122.07) }
        case .updateVehicleState:
            try await fixture.updateVehicle(vehicle, ["vehicleState"], token: token) { $0.vehicleState = .offline }
        case .updateVehicleOther:
            for (path, change) in Self.otherVehicleFields {
                try await fixture.updateVehicle(vehicle, [path], token: token, change)
            }
        case .updateVehicleMixed:
            try await fixture.updateVehicle(vehicle, ["last_location", "maximumCapacity"], token: token) {
                $0.maximumCapacity = 5
            }
        case .updateVehicleAttributes:
            _ = try await fixture.engine.perform(
                UpdateVehicleAttributes.self,
                .with {
                    $0.name = "providers/acme/vehicles/\(vehicle)"
                    $0.attributes = [
                        .with {
                            $0.key = "class"
                            $0.value = "van"
                        }
                    ]
                },
                token: token
            )
        case .searchVehicles:
            _ = try await fixture.engine.perform(
                SearchVehicles.self, VehicleSearchTests.request { $0.tripID = trip }, token: token)
        case .createTrip: try await fixture.createTrip(trip, token: token)
        case .getTrip: _ = try await fixture.trip(trip, token: token)
        case .updateTripFields:
            try await fixture.updateTrip(trip, ["dropoff_point"], token: token) {
                $0.dropoffPoint = .at(37.5, -122.1)
            }
        case .updateTripStatus:
            try await fixture.updateTrip(trip, ["tripStatus"], token: token) { $0.tripStatus = .enrouteToPickup }
        case .updateTripMixed:
            try await fixture.updateTrip(trip, ["dropoff_point", "trip_status"], token: token) {
                $0.dropoffPoint = .at(37.5, -122.1)
                $0.tripStatus = .enrouteToPickup
            }
        }
    }

    static let otherVehicleFields: [(String, @Sendable (inout Vehicle) -> Void)] = [
        ("maximum_capacity", { $0.maximumCapacity = 5 }),
        ("supportedTripTypes", { $0.supportedTripTypes = [.shared] }),
        ("vehicle_type", { $0.vehicleType.category = .taxi }),
        ("attributes", { $0.attributes = [] }),
        ("license_plate", { $0.licensePlate.countryCode = "US" }),
        ("back_to_back_enabled", { $0.backToBackEnabled = true }),
        ("waypoints", { $0.waypoints = [] }),
    ]

    @Test(arguments: roles, Operation.allCases)
    func `every cell of the matrix is as published`(role: String, operation: Operation) async throws {
        let allowed = Self.allowed[role]?[operation] ?? []
        for claim in Claim.allCases {
            let fixture = try await Self.world()
            // Waypoints of a busy vehicle cannot be emptied, so that write goes to an idle one.
            if operation == .updateVehicleOther {
                try await fixture.updateTrip("trip-1", ["vehicle_id"])
            }
            let outcome = await code {
                try await Self.call(operation, fixture, token: Self.token(role, claim))
            }
            // What is to be created exists already, which only the admitted learn.
            let creates = operation == .createVehicle || operation == .createTrip
            let admitted: EngineError.Code? = creates ? .alreadyExists : nil
            #expect(
                outcome == (allowed.contains(claim) ? admitted : .permissionDenied),
                "\(role) with \(claim) calling \(operation)"
            )
        }
    }

    @Test(arguments: ["server", "ondemand_admin"])
    func `a creation succeeds with its own claim and fails with another's`(role: String) async throws {
        let fixture = EngineFixture()
        #expect(
            await code { try await fixture.createVehicle("veh-2", token: "\(role)|vehicleid=veh-1") }
                == (role == "server" ? .permissionDenied : nil))
        #expect(await code { try await fixture.createVehicle("veh-1", token: "\(role)|vehicleid=veh-1") } == nil)
        #expect(await code { try await fixture.createTrip("trip-1", token: "\(role)|tripid=trip-1") } == nil)
    }

    @Test(arguments: roles, Operation.allCases)
    func `a caller without access cannot tell whether a resource exists`(
        role: String, operation: Operation
    ) async throws {
        for claim in Claim.allCases where Self.allowed[role]?[operation]?.contains(claim) != true {
            let fixture = try await Self.world()
            let token = Self.token(role, claim)
            func refusal(_ vehicle: String, _ trip: String) async -> EngineError? {
                do {
                    try await Self.call(operation, fixture, token: token, vehicle: vehicle, trip: trip)
                    return nil
                } catch {
                    return error as? EngineError
                }
            }
            let known = await refusal("veh-1", "trip-1")
            let unknown = await refusal("nobody", "nowhere")
            #expect(known != nil)
            #expect(known == unknown, "\(role) with \(claim) calling \(operation)")
        }
    }

    @Test func `a driver reaches the trips of its vehicle as long as they are assigned to it`() async throws {
        let fixture = try await Self.world()
        let token = "driver|vehicleid=veh-1"
        #expect(await code { try await fixture.trip("trip-1", token: token) } == nil)
        #expect(await code { try await fixture.trip("trip-2", token: token) } == .permissionDenied)
        try await fixture.updateTrip("trip-2", ["vehicle_id"]) { $0.vehicleID = "veh-1" }
        #expect(await code { try await fixture.trip("trip-2", token: token) } == nil)
        try await fixture.updateTrip("trip-1", ["vehicle_id"])
        #expect(await code { try await fixture.trip("trip-1", token: token) } == .permissionDenied)
    }

    @Test func `a driver cannot push its trip into the plan of another vehicle`() async throws {
        let fixture = try await Self.world()
        let token = "driver|vehicleid=veh-1"
        func assign(_ vehicle: String, _ path: String) async -> EngineError.Code? {
            await code { try await fixture.updateTrip("trip-1", [path], token: token) { $0.vehicleID = vehicle } }
        }
        for path in ["vehicle_id", "vehicleId"] {
            #expect(await assign("veh-2", path) == .permissionDenied)
            // Whether the other vehicle exists stays untold.
            #expect(await assign("nobody", path) == .permissionDenied)
            #expect(await assign("veh-1", path) == nil)
        }
        #expect(try await fixture.vehicle("veh-2").currentTrips == ["trip-2"])
        #expect(await assign("", "vehicle_id") == nil)
        #expect(try await fixture.vehicle("veh-1").currentTrips == [])
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
