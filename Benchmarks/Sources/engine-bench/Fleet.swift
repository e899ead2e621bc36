// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import FleetEngineAPI
import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import NIOCore
import SwiftProtobuf

/// As many vehicles as clients, each reporting as fast as it is answered.
struct Fleet: Sendable {
    private typealias Client = Maps_Fleetengine_V1_VehicleService.Client<HTTP2ClientTransport.Posix>

    private let servers: BenchServers
    private let token: String
    private let clients: Int
    private let engine: GRPCClient<HTTP2ClientTransport.Posix>
    private let constant: GRPCClient<HTTP2ClientTransport.Posix>
    private let http: HTTPClient

    init(servers: BenchServers, token: String, clients: Int) {
        self.servers = servers
        self.token = token
        self.clients = clients
        self.engine = Self.client(port: servers.grpcPort)
        self.constant = Self.client(port: servers.constantGRPCPort)
        // A connection for each client; the default of eight would make them wait for each other, not for the server.
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = clients
        self.http = HTTPClient(configuration: configuration)
    }

    private static func client(port: Int) -> GRPCClient<HTTP2ClientTransport.Posix> {
        guard
            let transport = try? HTTP2ClientTransport.Posix(
                target: .ipv4(address: "127.0.0.1", port: port), transportSecurity: .plaintext)
        else { fatalError("No transport to port \(port).") }
        let client = GRPCClient(transport: transport)
        Task { try await client.runConnections() }
        return client
    }

    func stop() async throws {
        self.engine.beginGracefulShutdown()
        self.constant.beginGracefulShutdown()
        try await self.http.shutdown()
    }

    func createVehicles() async throws {
        let vehicles = Client(wrapping: self.engine)
        for number in 0..<self.clients {
            _ = try await vehicles.createVehicle(
                .with {
                    $0.parent = "providers/bench"
                    $0.vehicleID = "vehicle-\(number)"
                    $0.vehicle = BenchServers.constant
                },
                metadata: ["authorization": "Bearer \(self.token)"]
            )
        }
    }

    /// Runs a call on every client until the time is over; gives the nanoseconds of each.
    func load(for seconds: Double, _ call: @escaping @Sendable (Int) async throws -> Void) async throws -> [Double] {
        let end = ContinuousClock.now + .seconds(seconds)
        return try await withThrowingTaskGroup(of: [Double].self) { group in
            for client in 0..<self.clients {
                group.addTask {
                    var times: [Double] = []
                    while ContinuousClock.now < end {
                        let start = ContinuousClock.now
                        try await call(client)
                        let elapsed = (ContinuousClock.now - start).components
                        times.append(Double(elapsed.seconds) * 1e9 + Double(elapsed.attoseconds) / 1e9)
                    }
                    return times
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    func restUpdate(_ client: Int, isConstant: Bool) async throws {
        let path =
            isConstant
            ? "/constant" : "/v1/providers/bench/vehicles/vehicle-\(client)?updateMask=lastLocation,vehicleState"
        var request = HTTPClientRequest(url: self.servers.restURL + path)
        request.method = .PUT
        request.headers.add(name: "authorization", value: "Bearer \(self.token)")
        request.headers.add(name: "content-type", value: "application/json")
        request.body = .bytes(ByteBuffer(string: Self.body))
        let response = try await self.http.execute(request, timeout: .seconds(30))
        _ = try await response.body.collect(upTo: 1 << 20)
        guard response.status == .ok else { fatalError("The answer was \(response.status).") }
    }

    func grpcUpdate(_ client: Int, isConstant: Bool) async throws {
        let vehicles = Client(wrapping: isConstant ? self.constant : self.engine)
        _ = try await vehicles.updateVehicle(
            .with {
                $0.name = "providers/bench/vehicles/vehicle-\(client)"
                $0.vehicle.vehicleState = .online
                $0.vehicle.lastLocation.location.latitude = 37.419645
                $0.vehicle.lastLocation.location.longitude = -122.073884
                $0.vehicle.lastLocation.heading = 90
                $0.updateMask = .with { $0.paths = ["last_location", "vehicle_state"] }
            },
            metadata: ["authorization": "Bearer \(self.token)"]
        )
    }

    private static let body =
        #"{"vehicleState":"ONLINE","lastLocation":{"location":{"latitude":37.419645,"longitude":-122.073884},"heading":90}}"#
}
