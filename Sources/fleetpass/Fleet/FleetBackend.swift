// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens
import Foundation

/// What a company's own backend does at the engine: creates vehicles and trips, and moves trips on.
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

    private func call(
        _ method: String, _ path: [String], _ query: [String: String], _ body: [String: Any],
        accepting statuses: Set<Int> = [200]
    ) async throws {
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
                body: try JSONSerialization.data(withJSONObject: body)
            )
        )
        guard statuses.contains(answer.status) else { throw EngineFailure(refusal: answer) }
    }
}
