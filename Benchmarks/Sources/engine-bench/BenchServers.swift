// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngine
import FleetEngineAPI
import Hummingbird
import Logging
import SwiftProtobuf

/// The engine's two servers.
struct BenchServers: Sendable {
    let restURL: String
    let grpcPort: Int
    private let tasks: [Task<Void, any Error>]

    static func start(engine: Engine, logger: Logger) async throws -> Self {
        let responder = EngineRoutes(engine: engine).responder(beside: Router())
        let http = try await BenchHTTP.start(responder, logger: logger)
        let grpc = EngineGRPCServer(engine: engine, host: "127.0.0.1", port: 0)
        let tasks = [http.task, Task { try await grpc.run() }]
        return Self(restURL: http.url, grpcPort: try await grpc.port, tasks: tasks)
    }

    func stop() {
        for task in self.tasks { task.cancel() }
    }
}

/// An HTTP server set up as the engine's own.
struct BenchHTTP {
    let url: String
    let task: Task<Void, any Error>

    static func start(
        _ responder: some HTTPResponder<BasicRequestContext>, logger: Logger
    ) async throws -> Self {
        let (ports, announce) = AsyncStream.makeStream(of: Int.self)
        let http = Application(
            responder: responder,
            server: .http1OnEventLoops(),
            configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { announce.yield($0.localAddress?.port ?? 0) },
            logger: logger
        )
        let task = Task { try await http.run() }
        var iterator = ports.makeAsyncIterator()
        let port = await iterator.next() ?? 0
        return Self(url: "http://127.0.0.1:\(port)", task: task)
    }
}

extension Vehicle {
    /// A vehicle to be made.
    static let sample = Vehicle.with {
        $0.vehicleState = .online
        $0.supportedTripTypes = [.exclusive]
        $0.maximumCapacity = 4
        $0.vehicleType.category = .auto
        $0.lastLocation.location.latitude = 37.419645
        $0.lastLocation.location.longitude = -122.073884
        $0.lastLocation.serverTime = Google_Protobuf_Timestamp(seconds: 1_767_225_600)
    }
}

extension Trip {
    /// A trip to be made.
    static let sample = Trip.with {
        $0.tripType = .exclusive
        $0.pickupPoint.point.latitude = 37.42
        $0.pickupPoint.point.longitude = -122.08
        $0.dropoffPoint.point.latitude = 37.45
        $0.dropoffPoint.point.longitude = -122.1
        $0.numberOfPassengers = 1
    }
}
