// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokenClient
import FleetTokens
import Foundation

/// What a company's own backend does at the engine: creates vehicles, trips and tasks, and moves them on.
struct FleetBackend: Sendable {
    let provider: ProviderID
    let engine: EngineEndpoint
    /// A server token for each call.
    let token: @Sendable () async throws -> FleetToken
    let transport: any HTTPTransport

    /// Creates a vehicle; one that exists already is fine.
    func createVehicle(_ id: VehicleID) async throws {
        try await self.call(
            "POST", ["vehicles"], ["vehicleId": id.value],
            [
                "vehicleState": "OFFLINE", "supportedTripTypes": ["EXCLUSIVE"], "maximumCapacity": 4,
                "vehicleType": ["category": "AUTO"],
            ],
            accepting: [200, 409]
        )
    }

    /// Creates an exclusive trip between two points.
    func createTrip(_ id: TripID, from pickup: [Double], to dropoff: [Double]) async throws {
        func point(_ place: [Double]) -> [String: Any] {
            ["point": ["latitude": place[0], "longitude": place[1]]]
        }
        try await self.call(
            "POST", ["trips"], ["tripId": id.value],
            ["tripType": "EXCLUSIVE", "pickupPoint": point(pickup), "dropoffPoint": point(dropoff)]
        )
    }

    /// Sets a trip's status, and its vehicle where one is given.
    func updateTrip(_ id: TripID, status: String, vehicle: VehicleID? = nil) async throws {
        var body: [String: Any] = ["tripStatus": status]
        body["vehicleId"] = vehicle?.value
        try await self.call(
            "PUT", ["trips", id.value], ["updateMask": body.keys.sorted().joined(separator: ",")], body)
    }

    /// Calls off the trips that a vehicle has.
    func cancelTrips(of vehicle: VehicleID) async throws {
        struct Vehicle: Decodable {
            let currentTrips: [String]?
        }
        let answer = try await self.call("GET", ["vehicles", vehicle.value])
        for trip in try JSONDecoder().decode(Vehicle.self, from: answer).currentTrips ?? [] {
            try await self.updateTrip(TripID(checking: trip), status: "CANCELED")
        }
    }

    // MARK: - Deliveries

    /// Creates a delivery vehicle; one that exists already is fine.
    func createDeliveryVehicle(_ id: DeliveryVehicleID) async throws {
        try await self.call(
            "POST", ["deliveryVehicles"], ["deliveryVehicleId": id.value], ["type": "AUTO"], accepting: [200, 409])
    }

    /// Creates a delivery of one shipment to a place.
    func createTask(_ id: TaskID, tracking: TrackingID, at place: [Double]) async throws {
        try await self.call(
            "POST", ["tasks"], ["taskId": id.value],
            [
                "type": "DELIVERY", "state": "OPEN", "trackingId": tracking.value, "taskDuration": "60s",
                "plannedLocation": ["point": ["latitude": place[0], "longitude": place[1]]],
            ]
        )
    }

    /// Sets the stops of a delivery vehicle, one task at each.
    func setStops(_ stops: [(task: TaskID, place: [Double])], of vehicle: DeliveryVehicleID) async throws {
        let segments: [[String: Any]] = stops.map { stop in
            let point = ["latitude": stop.place[0], "longitude": stop.place[1]]
            return [
                "stop": [
                    "plannedLocation": ["point": point], "state": "NEW", "tasks": [["taskId": stop.task.value]],
                ] as [String: Any]
            ]
        }
        try await self.call(
            "PATCH", ["deliveryVehicles", vehicle.value], ["updateMask": "remaining_vehicle_journey_segments"],
            ["remainingVehicleJourneySegments": segments])
    }

    @discardableResult private func call(
        _ method: String, _ path: [String], _ query: [String: String] = [:], _ body: [String: Any]? = nil,
        accepting statuses: Set<Int> = [200]
    ) async throws -> Data {
        let token = try await self.token()
        let answer = try await self.transport.send(
            HTTPTransportRequest(
                method: method,
                url: try self.engine.url(
                    ["v1", "providers", self.provider.value] + path, query: query.map { (name: $0, value: $1) }),
                headers: [
                    (name: "Authorization", value: token.authorizationHeader),
                    (name: "Content-Type", value: "application/json"),
                ],
                body: try body.map { try JSONSerialization.data(withJSONObject: $0) }
            )
        )
        guard statuses.contains(answer.status) else { throw EngineFailure(refusal: answer) }
        return answer.body
    }
}

extension FleetBackend {
    /// A backend that mints its own tokens with a key file.
    ///
    /// - Throws: ``CommandFailure`` with `configuration` for a key file that will not do, or `usage` for the engine's URL.
    init(
        keyFile: String, type: TokenType, provider: ProviderID, engine: URL, transport: any HTTPTransport
    ) throws {
        do {
            let minter = TokenMinter(signer: try LocalSigner(SigningKeyFile(path: keyFile).read()))
            self.init(
                provider: provider,
                engine: try EngineEndpoint(engine),
                token: { try await minter.mint(type.claims, at: Date()).token },
                transport: transport
            )
        } catch let error as SigningError {
            throw CommandFailure(status: .configuration, message: "\(keyFile): \(error.message)")
        } catch let error as TokenClientError {
            throw CommandFailure(status: .usage, message: error.message)
        }
    }
}
