// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens
import Foundation

/// The calls of one delivery vehicle, each with the token that it needs.
struct DeliveryCalls: Sendable {
    let provider: ProviderID
    let vehicle: DeliveryVehicleID
    let endpoint: EngineEndpoint
    let tokens: any TokenProvider
    let transport: any HTTPTransport
    let time: MonotonicTime

    // MARK: - Requests

    func locations(_ batch: FixBuffer.Batch, _ sensor: LocationSensor) -> EngineRequest {
        let (mask, body) = batch.fields(sensor)
        return self.update(mask, body)
    }

    private func stops(_ stops: [VehicleStop]) -> EngineRequest {
        self.update(
            ["remaining_vehicle_journey_segments"],
            ["remainingVehicleJourneySegments": .array(stops.map(\.segment))])
    }

    var reading: EngineRequest { EngineRequest(method: "GET", segments: self.segments) }

    private var segments: [String] {
        ["v1", "providers", self.provider.value, "deliveryVehicles", self.vehicle.value]
    }

    private func update(_ mask: [String], _ body: JSONObject) -> EngineRequest {
        EngineRequest(
            method: "PATCH",
            segments: self.segments,
            query: [("updateMask", mask.joined(separator: ","))],
            body: Data(JSONValue.object(body).serialized)
        )
    }

    // MARK: - Calls

    /// Updates or reads the vehicle with its own token.
    func send(_ request: EngineRequest, lastToken: LastToken, limit: Duration) async throws -> EngineAnswer {
        try await self.call(for: self.own).send(lastToken: lastToken, limit: limit) { request }
            .checked(as: "a delivery vehicle")
    }

    /// Changes the stops with a token that names a task besides, or else with the vehicle's own; the list is made when the
    /// token is there.
    func sendStops(
        for task: TaskID?, lastToken: LastToken, limit: Duration, _ stops: () throws -> [VehicleStop]
    ) async throws -> EngineAnswer {
        try await self.call(for: .deliveryDriver(self.vehicle, task: task), or: self.own)
            .send(lastToken: lastToken, limit: limit) { self.stops(try stops()) }
            .checked(as: "a delivery vehicle")
    }

    /// Tells a task's outcome with a token for that task.
    func send(
        _ report: TaskOutcomeReport, lastToken: LastToken, limit: Duration, onSending: () -> Void
    ) async throws -> EngineAnswer {
        try await self.call(for: .deliveryDriver(self.vehicle, task: report.task))
            .send(lastToken: lastToken, limit: limit) {
                onSending()
                return report.request(provider: self.provider)
            }
            .checked(as: "a task")
    }

    private var own: TokenSubject { .deliveryDriver(self.vehicle) }

    private func call(for subject: TokenSubject, or other: TokenSubject? = nil) -> AuthorizedCall {
        AuthorizedCall(
            endpoint: self.endpoint, subject: subject, alsoAccepting: other, tokens: self.tokens,
            transport: self.transport, time: self.time)
    }
}
