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
    /// A fleet of one vehicle, and a backend for its trips.
    private func fleet(over transport: StubTransport) throws -> (SimulatedFleet, FleetBackend) {
        let engine = try #require(URL(string: "https://engine.example"))
        let provider = try ProviderID(checking: "acme")
        let vehicle = try VehicleID(checking: "sim-1")
        let backend = FleetBackend(
            provider: provider, engine: try EngineEndpoint(engine),
            token: { TestTokens.token(for: .driver(vehicle)) }, transport: transport)
        let fleet = try SimulatedFleet(
            size: 1, speed: 1, interval: .zero, maxRate: 200, provider: provider, engine: engine,
            tokens: StubTokenProvider(), transport: transport, backend: backend, meter: FleetMeter())
        return (fleet, backend)
    }

    /// The bodies of the changes of trips so far.
    private func changes(over transport: StubTransport) -> [String] {
        transport.requests.filter { $0.method == "PUT" }.map { String(decoding: $0.body ?? Data(), as: UTF8.self) }
    }

    @Test func `a trip that the engine took as complete is completed, whatever its customer hears`() async throws {
        let transport = StubTransport { request, _ in
            // The customer never hears anything.
            if request.method == "GET" { return .silence }
            let body = String(decoding: request.body ?? Data(), as: UTF8.self)
            // The time of the fleet is over while this answer is on its way.
            if body.contains("COMPLETE") { withUnsafeCurrentTask { $0?.cancel() } }
            return .response(HTTPTransportResponse(status: 200))
        }
        let (fleet, backend) = try self.fleet(over: transport)
        let trip = Task { try await fleet.carry(by: fleet.vehicles[0], on: fleet.routes[0], with: backend) }
        try await trip.value
        let counts = fleet.meter.counts
        #expect(counts.tripsCompleted == 1 && counts.tripsCutShort == 0)
        let changes = self.changes(over: transport)
        #expect(changes.count == 4)
        #expect(changes.last?.contains("COMPLETE") == true)
    }

    @Test(arguments: [(200, 1), (503, 0)])
    func `a trip that the engine makes as the time is over is called off`(status: Int, cutShort: Int) async throws {
        let (answering, answer) = AsyncStream.makeStream(of: Never.self)
        let transport = StubTransport { request, _ in
            if request.method == "GET" { return .silence }
            if request.method == "POST" {
                for await _ in answering {}
                // Who is cancelled does not hear what the engine made.
                try Task.checkCancellation()
            }
            return .response(HTTPTransportResponse(status: request.method == "POST" ? 200 : status))
        }
        let (fleet, backend) = try self.fleet(over: transport)
        let trip = Task { try await fleet.carry(by: fleet.vehicles[0], on: fleet.routes[0], with: backend) }
        await transport.waitForRequests(1)
        trip.cancel()
        answer.finish()
        let result = await trip.result
        // One that cannot be called off has failed.
        if status == 200 {
            #expect(throws: CancellationError.self) { try result.get() }
        } else {
            #expect(throws: EngineFailure.self) { try result.get() }
        }
        let counts = fleet.meter.counts
        #expect(counts.tripsCreated == 1 && counts.tripsCutShort == cutShort)
        #expect(self.changes(over: transport).last?.contains("CANCELED") == true)
    }

    @Test func `a vehicle's trips are called off, and one without any has none`() async throws {
        let vehicle = try VehicleID(checking: "vehicle-1")
        for (text, trips) in [(#"{"currentTrips":["a","b"]}"#, ["a", "b"]), (#"{"name":"vehicle-1"}"#, [])] {
            let transport = StubTransport { request, _ in
                .response(
                    HTTPTransportResponse(status: 200, body: Data((request.method == "GET" ? text : "{}").utf8)))
            }
            let (_, backend) = try self.fleet(over: transport)
            try await backend.cancelTrips(of: vehicle)
            #expect(transport.requests.first?.url.path == "/v1/providers/acme/vehicles/vehicle-1")
            let changes = transport.requests.dropFirst()
            #expect(changes.map(\.url.path) == trips.map { "/v1/providers/acme/trips/\($0)" })
            #expect(self.changes(over: transport).allSatisfy { $0.contains("CANCELED") })
        }
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
