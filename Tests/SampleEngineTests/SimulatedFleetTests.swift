// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

@testable import fleetpass

@Suite(.timeLimit(.minutes(10))) struct SimulatedFleetTests {
    @Test func `a trip that the engine took as complete is completed, whatever its customer hears`() async throws {
        let engine = try #require(URL(string: "https://engine.example"))
        let provider = try ProviderID(checking: "acme")
        let transport = StubTransport { request, _ in
            // The customer never hears anything.
            if request.method == "GET" { return .silence }
            let body = String(decoding: request.body ?? Data(), as: UTF8.self)
            // The time of the fleet is over while this answer is on its way.
            if body.contains("COMPLETE") { withUnsafeCurrentTask { $0?.cancel() } }
            return .response(HTTPTransportResponse(status: 200))
        }
        let vehicle = try VehicleID(checking: "sim-1")
        let backend = FleetBackend(
            provider: provider, engine: try EngineEndpoint(engine),
            token: { TestTokens.token(for: .driver(vehicle)) }, transport: transport)
        let meter = FleetMeter()
        let fleet = try SimulatedFleet(
            size: 1, speed: 1, interval: .zero, provider: provider, engine: engine, tokens: StubTokenProvider(),
            transport: transport, backend: backend, meter: meter)
        let trip = Task { try await fleet.carry(by: vehicle, on: fleet.routes[0], with: backend) }
        try await trip.value
        #expect(meter.counts.tripsCompleted == 1 && meter.counts.tripsCutShort == 0)
        let changes = transport.requests.filter { $0.method == "PUT" }
        let last = try #require(changes.last?.body)
        #expect(changes.count == 4)
        #expect(String(decoding: last, as: UTF8.self).contains("COMPLETE"))
    }

    @Test func `a drive without end begins again, and is one source for its reporter`() async throws {
        let route = try Route(
            fixes: [1, 2, 3].map { number in
                try LocationFix(
                    latitude: Double(number), longitude: 0, time: Date(timeIntervalSince1970: Double(number) / 1000))
            })
        let rest = try Route(fixes: Array(route.fixes.dropFirst(2)))
        var drive = try EndlessDrive(rest, then: route, speed: 1).makeAsyncIterator()
        var latitudes: [Double] = []
        for _ in 1...8 {
            let fix = try await drive.next()
            latitudes.append(try #require(fix).latitude)
        }
        #expect(latitudes == [3, 1, 2, 3, 1, 2, 3, 1])
    }
}
