// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens
import Foundation

/// Somebody who sends tokens where they do not belong, so that the page has refusals to show.
final class DemoIntruder: Sendable {
    private let provider: ProviderID
    private let engine: EngineEndpoint
    private let tokens: FleetTokenProvider
    private let transport: any HTTPTransport
    private let vehicles: [VehicleID]
    private let count = Locked(0)

    init(
        provider: ProviderID, engine: EngineEndpoint, tokens: FleetTokenProvider, transport: any HTTPTransport,
        vehicles: [VehicleID]
    ) {
        self.provider = provider
        self.engine = engine
        self.tokens = tokens
        self.transport = transport
        self.vehicles = vehicles
    }

    /// Tries the next wrong thing.
    func tryNext() async throws {
        let attempt = self.count.withLock { count in
            count += 1
            return count
        }
        guard let own = self.vehicles.first, let other = self.vehicles.last else { return }
        let good = try await self.tokens.token(for: .driver(own))
        switch attempt % 4 {
        case 1: try await self.call("GET", ["vehicles", other.value], good, "a driver reads another vehicle")
        case 2: try await self.call("POST", ["vehicles"], good, "a driver creates a vehicle")
        case 3:
            let changed = FleetToken(String(good.compactSerialization.dropLast(4)) + "AAAA")
            try await self.call("GET", ["vehicles", own.value], changed, "a token was changed on the way")
        default: try await self.call("GET", ["vehicles", own.value], nil, "a call carries no token")
        }
    }

    private func call(_ method: String, _ path: [String], _ token: FleetToken?, _ story: String) async throws {
        let answer = try await self.transport.send(
            HTTPTransportRequest(
                method: method,
                url: try self.engine.url(
                    ["v1", "providers", self.provider.value] + path,
                    query: method == "POST" ? [(name: "vehicleId", value: "intruder")] : []),
                headers: token.map { [(name: "Authorization", value: $0.authorizationHeader)] } ?? [],
                body: method == "POST" ? Data("{}".utf8) : nil
            )
        )
        let refusal = EngineFailure(refusal: answer)
        Console.say("\(story): \(answer.status) \(refusal.reason ?? "") \(refusal.message)")
    }
}
