// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import SwiftProtobuf
import Testing

@testable import FleetEngine

/// What any adapter over any store must answer.
@Suite(.timeLimit(.minutes(10))) struct ConformanceTests {
    private static let vehicleName = "providers/acme/vehicles/veh-1"
    private static let tripName = "providers/acme/trips/trip-1"

    private static func create(_ id: String, _ vehicle: Vehicle = .sample) -> WireCall {
        .createVehicle(
            .with {
                $0.parent = "providers/acme"
                $0.vehicleID = id
                $0.vehicle = vehicle
            })
    }

    private static func get(_ name: String) -> WireCall { .getVehicle(.with { $0.name = name }) }

    private static func update(_ name: String, mask: [String], _ vehicle: Vehicle) -> WireCall {
        .updateVehicle(
            .with {
                $0.name = name
                $0.updateMask.paths = mask
                $0.vehicle = vehicle
            })
    }

    // MARK: - Success

    @Test(arguments: WireSetup.all)
    func `a vehicle is created, read and updated`(setup: WireSetup) async throws {
        try await setup.withClient { client in
            let created: Vehicle = try await client.call(Self.create("veh-1"))
            #expect(created.name == Self.vehicleName)
            #expect(created.vehicleState == .online)
            #expect(created.lastLocation.location.latitude == 37.419645)
            let read: Vehicle = try await client.call(Self.get(Self.vehicleName))
            #expect(read == created)
            let updated: Vehicle = try await client.call(
                Self.update(
                    Self.vehicleName, mask: ["vehicle_state"],
                    .with {
                        $0.vehicleState = .offline
                        $0.maximumCapacity = 99
                    }))
            #expect(updated.vehicleState == .offline)
            #expect(updated.maximumCapacity == 4)
        }
    }

    @Test(arguments: WireSetup.all, [["last_location", "vehicle_state"], ["lastLocation", "vehicleState"]])
    func `a mask may be spelled either way`(setup: WireSetup, mask: [String]) async throws {
        try await setup.withClient { client in
            let _: Vehicle = try await client.call(Self.create("veh-1"))
            let updated: Vehicle = try await client.call(
                Self.update(
                    Self.vehicleName, mask: mask,
                    .with {
                        $0.vehicleState = .online
                        $0.lastLocation = .at(52.5, 13.4)
                    }))
            #expect(updated.lastLocation.location == .at(52.5, 13.4))
        }
    }

    @Test(arguments: WireSetup.all)
    func `attributes are merged`(setup: WireSetup) async throws {
        try await setup.withClient { client in
            let _: Vehicle = try await client.call(Self.create("veh-1"))
            let answer: UpdateVehicleAttributes.Response = try await client.call(
                .updateVehicleAttributes(
                    .with {
                        $0.name = Self.vehicleName
                        $0.attributes = [
                            .with {
                                $0.key = "class"
                                $0.stringValue = "lux"
                            }
                        ]
                    }))
            #expect(answer.attributes.map(\.key) == ["class"])
            #expect(answer.attributes.map(\.value) == ["lux"])
        }
    }

    @Test(arguments: WireSetup.all)
    func `a search finds the vehicle nearby and not the one far away`(setup: WireSetup) async throws {
        try await setup.withClient { client in
            let _: Vehicle = try await client.call(Self.create("near"))
            var far = Vehicle.sample
            far.lastLocation = .at(38.5, -122)
            let _: Vehicle = try await client.call(Self.create("far", far))
            let answer: SearchVehicles.Response = try await client.call(
                .searchVehicles(
                    .with {
                        $0.parent = "providers/acme"
                        $0.pickupPoint = .at(37.419646, -122.073885)
                        $0.pickupRadiusMeters = 400
                        $0.count = 5
                        $0.minimumCapacity = 1
                        $0.tripTypes = [.exclusive]
                        $0.vehicleTypes = [.with { $0.category = .auto }]
                        $0.orderBy = .pickupPointDistance
                    }))
            #expect(answer.matches.map(\.vehicle.name) == ["providers/acme/vehicles/near"])
        }
    }

    @Test(arguments: WireSetup.all)
    func `a trip is created, assigned and read by its consumer`(setup: WireSetup) async throws {
        try await setup.withClient { client in
            let _: Vehicle = try await client.call(Self.create("veh-1"))
            let created: Trip = try await client.call(
                .createTrip(
                    .with {
                        $0.parent = "providers/acme"
                        $0.tripID = "trip-1"
                        $0.trip = .sample
                    }))
            #expect(created.name == Self.tripName)
            #expect(created.tripStatus == .new)
            let _: Trip = try await client.call(
                .updateTrip(
                    .with {
                        $0.name = Self.tripName
                        $0.updateMask.paths = ["vehicle_id"]
                        $0.trip.vehicleID = "veh-1"
                    }))
            let seen: Trip = try await client.call(
                .getTrip(
                    .with {
                        $0.name = Self.tripName
                        $0.view = .sdk
                    }), token: "consumer|tripid=trip-1")
            #expect(seen.vehicleID == "veh-1")
        }
    }

    @Test(arguments: WireSetup.all, ["Z\u{FC}rich-1", "Zu\u{308}rich-1", "a b%20c", "車両-7", "100%", "a+b", "a&b=c"])
    func `an id is one id in every spelling and encoding`(setup: WireSetup, id: String) async throws {
        try await setup.withClient { client in
            let created: Vehicle = try await client.call(Self.create(id))
            let composed = "providers/acme/vehicles/" + id.precomposedStringWithCanonicalMapping
            #expect(Array(created.name.unicodeScalars) == Array(composed.unicodeScalars))
            for name in [composed, composed.decomposedStringWithCanonicalMapping] {
                let read: Vehicle = try await client.call(Self.get(name))
                #expect(read == created)
            }
        }
    }

    // MARK: - Errors

    struct Refusal: Sendable, CustomStringConvertible {
        let description: String
        let call: WireCall
        var authorization: String? = "Bearer \(serverToken)"
        let status: String
        var reason: String?
        var message: String?
    }

    /// One row for each kind of error; a vehicle `veh-1` and an assigned trip `trip-1` exist.
    private static let refusals: [Refusal] = [
        Refusal(
            description: "no token", call: get(vehicleName), authorization: nil, status: "UNAUTHENTICATED",
            reason: "TOKEN_MISSING"),
        Refusal(
            description: "another scheme", call: get(vehicleName), authorization: "Basic dTpw",
            status: "UNAUTHENTICATED", reason: "TOKEN_MISSING"),
        Refusal(
            description: "two tokens", call: get(vehicleName), authorization: "Bearer a b",
            status: "UNAUTHENTICATED", reason: "TOKEN_MALFORMED"),
        Refusal(
            description: "a bad token", call: get(vehicleName), authorization: "Bearer bad",
            status: "UNAUTHENTICATED", reason: "TOKEN_MALFORMED"),
        Refusal(
            description: "no token and a bad name", call: get("providers/acme/vehicles/a:b"), authorization: nil,
            status: "UNAUTHENTICATED", reason: "TOKEN_MISSING"),
        Refusal(
            description: "another vehicle's token", call: get(vehicleName),
            authorization: "Bearer driver|vehicleid=veh-2", status: "PERMISSION_DENIED", reason: "CLAIM_MISMATCH"),
        Refusal(
            description: "another vehicle's token for one that is not there",
            call: get("providers/acme/vehicles/none"), authorization: "Bearer driver|vehicleid=veh-2",
            status: "PERMISSION_DENIED", reason: "CLAIM_MISMATCH"),
        Refusal(
            description: "a token without an authorization object", call: get(vehicleName),
            authorization: "Bearer server", status: "PERMISSION_DENIED", reason: "CLAIMS_MISSING",
            message: "JWT does not contain any scopes. The token has no authorization claims, and the role of its "
                + "account needs them. Mint the token with the claim that names the resource, or sign with an admin "
                + "account."),
        Refusal(
            description: "a role that may not", call: create("veh-2"),
            authorization: "Bearer driver|vehicleid=veh-2", status: "PERMISSION_DENIED",
            reason: "ROLE_LACKS_PERMISSION"),
        Refusal(
            description: "another provider", call: get("providers/other/vehicles/veh-1"), status: "PERMISSION_DENIED",
            reason: "PROVIDER_MISMATCH"),
        Refusal(
            description: "an illegal id", call: get("providers/acme/vehicles/a:b"), status: "INVALID_ARGUMENT"),
        Refusal(description: "no vehicle", call: get("providers/acme/vehicles/none"), status: "NOT_FOUND"),
        Refusal(description: "a used id", call: create("veh-1"), status: "ALREADY_EXISTS"),
        Refusal(description: "no id", call: create(""), status: "INVALID_ARGUMENT"),
        Refusal(description: "an empty vehicle", call: create("veh-2", Vehicle()), status: "INVALID_ARGUMENT"),
        Refusal(
            description: "no mask", call: update(vehicleName, mask: [], .sample), status: "INVALID_ARGUMENT"),
        Refusal(
            description: "an unknown path in the mask", call: update(vehicleName, mask: ["wheels"], .sample),
            status: "INVALID_ARGUMENT"),
        Refusal(
            description: "the mask *", call: update(vehicleName, mask: ["*"], .sample), status: "INVALID_ARGUMENT"),
        Refusal(
            description: "a trip that cannot go back",
            call: .updateTrip(
                .with {
                    $0.name = tripName
                    $0.updateMask.paths = ["trip_status"]
                    $0.trip.tripStatus = .enrouteToPickup
                }), status: "FAILED_PRECONDITION"),
        Refusal(
            description: "a page of another list",
            call: .listVehicles(
                .with {
                    $0.parent = "providers/acme"
                    $0.pageToken = "AAAA"
                }), status: "INVALID_ARGUMENT"),
        Refusal(
            description: "a delivery method with a token of the other service",
            call: .getTask(.with { $0.name = "providers/acme/tasks/task-1" }), status: "PERMISSION_DENIED",
            reason: "ROLE_LACKS_PERMISSION"),
    ]

    @Test(arguments: WireSetup.all)
    func `every kind of error is told alike`(setup: WireSetup) async throws {
        try await setup.withClient { client in
            let _: Vehicle = try await client.call(Self.create("veh-1"))
            let _: Trip = try await client.call(
                .createTrip(
                    .with {
                        $0.parent = "providers/acme"
                        $0.tripID = "trip-1"
                        $0.trip = .sample
                    }))
            let _: Trip = try await client.call(
                .updateTrip(
                    .with {
                        $0.name = Self.tripName
                        $0.updateMask.paths = ["trip_status"]
                        $0.trip.tripStatus = .canceled
                    }))
            for refusal in Self.refusals {
                let failure = try await client.failure(of: refusal.call, authorization: refusal.authorization)
                #expect(failure?.status == refusal.status, "\(refusal)")
                if let reason = refusal.reason { #expect(failure?.reason == reason, "\(refusal)") }
                if let message = refusal.message { #expect(failure?.message == message, "\(refusal)") }
                #expect(failure?.message.isEmpty == false, "\(refusal)")
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `both adapters use the same words`(store: StoreKind) async throws {
        let words = try await withThrowingTaskGroup(of: [WireFailure?].self) { group in
            for adapter in WireSetup.Adapter.allCases {
                group.addTask {
                    try await WireSetup(adapter: adapter, store: store).withClient { client in
                        var failures: [WireFailure?] = []
                        for refusal in Self.refusals {
                            failures.append(
                                try await client.failure(of: refusal.call, authorization: refusal.authorization))
                        }
                        return failures
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for (index, refusal) in Self.refusals.enumerated() {
            #expect(words[0][index] == words[1][index], "\(refusal)")
        }
    }
}
