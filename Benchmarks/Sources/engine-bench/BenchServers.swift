// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngine
import FleetEngineAPI
import FleetOperation
import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import Hummingbird
import Logging
import NIOCore
import SwiftProtobuf

/// The engine's two servers, and the same two answering a constant.
struct BenchServers: Sendable {
    let restURL: String
    let grpcPort: Int
    let constantGRPCPort: Int
    /// Answers bytes through the library, past the generated code.
    let constantBytesPort: Int
    /// Answers bytes past the library.
    let plainFramesPort: Int
    private let plainFrames: PlainFrames
    private let tasks: [Task<Void, any Error>]

    /// What the constant servers answer: a vehicle as the engine returns it after an update.
    static let constant = Vehicle.with {
        $0.name = "providers/bench/vehicles/vehicle-1"
        $0.vehicleState = .online
        $0.supportedTripTypes = [.exclusive]
        $0.maximumCapacity = 4
        $0.vehicleType.category = .auto
        $0.lastLocation.location.latitude = 37.419645
        $0.lastLocation.location.longitude = -122.073884
        $0.lastLocation.serverTime = Google_Protobuf_Timestamp(date: Date(timeIntervalSince1970: 1_767_225_600))
    }

    /// A trip to be made.
    static let newTrip = Trip.with {
        $0.tripType = .exclusive
        $0.pickupPoint.point.latitude = 37.42
        $0.pickupPoint.point.longitude = -122.08
        $0.dropoffPoint.point.latitude = 37.45
        $0.dropoffPoint.point.longitude = -122.1
        $0.numberOfPassengers = 1
    }

    /// What the constant servers answer: a trip as the engine returns it to who has its plan already.
    static let constantTrip = Trip.with {
        $0 = newTrip
        $0.name = "providers/bench/trips/trip-1"
        $0.vehicleID = "vehicle-1"
        $0.tripStatus = .new
        $0.lastLocation = constant.lastLocation
        $0.remainingWaypointsVersion.seconds = 1_767_225_600
    }

    static func start(engine: Engine, logger: Logger) async throws -> Self {
        let router = Router()
        EngineRoutes(engine: engine).add(to: router)
        let body = ByteBuffer(bytes: try Self.constant.jsonUTF8Bytes() as [UInt8])
        router.put("/constant") { request, _ in
            _ = try await request.body.collect(upTo: 1 << 20)
            return Response(
                status: .ok, headers: [.contentType: "application/json"], body: ResponseBody(byteBuffer: body))
        }
        let trip = ByteBuffer(bytes: try Self.constantTrip.jsonUTF8Bytes() as [UInt8])
        router.get("/constant") { _, _ in
            Response(status: .ok, headers: [.contentType: "application/json"], body: ResponseBody(byteBuffer: trip))
        }
        let (ports, announce) = AsyncStream.makeStream(of: Int.self)
        let http = Application(
            router: router,
            server: .http1OnEventLoops(),
            configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { announce.yield($0.localAddress?.port ?? 0) },
            logger: logger
        )
        let grpc = EngineGRPCServer(engine: engine, host: "127.0.0.1", port: 0)
        let constant = GRPCServer(
            transport: .http2NIOPosix(
                address: .ipv4(host: "127.0.0.1", port: 0), transportSecurity: .plaintext),
            services: [ConstantVehicles(), ConstantTrips()]
        )
        let bytes = GRPCServer(
            transport: .http2NIOPosix(
                address: .ipv4(host: "127.0.0.1", port: 0), transportSecurity: .plaintext),
            services: [try ConstantBytes(answering: self.constantTrip)]
        )
        let frames = try await PlainFrames.start(answering: self.constantTrip)
        let tasks = [
            Task { try await http.run() }, Task { try await grpc.run() }, Task { try await constant.serve() },
            Task { try await bytes.serve() },
        ]
        var iterator = ports.makeAsyncIterator()
        let httpPort = await iterator.next() ?? 0
        return Self(
            restURL: "http://127.0.0.1:\(httpPort)",
            grpcPort: try await grpc.port,
            constantGRPCPort: try await constant.listeningAddress?.ipv4?.port ?? 0,
            constantBytesPort: try await bytes.listeningAddress?.ipv4?.port ?? 0,
            plainFramesPort: frames.port,
            plainFrames: frames,
            tasks: tasks
        )
    }

    func stop() async {
        try? await self.plainFrames.stop()
        for task in self.tasks { task.cancel() }
    }
}

/// Answers each update with the same vehicle.
struct ConstantVehicles: Maps_Fleetengine_V1_VehicleService.SimpleServiceProtocol {
    func updateVehicle(
        request: Maps_Fleetengine_V1_UpdateVehicleRequest, context: ServerContext
    ) async throws -> Vehicle { BenchServers.constant }

    func createVehicle(
        request: Maps_Fleetengine_V1_CreateVehicleRequest, context: ServerContext
    ) async throws -> Vehicle { BenchServers.constant }

    func getVehicle(
        request: Maps_Fleetengine_V1_GetVehicleRequest, context: ServerContext
    ) async throws -> Vehicle { BenchServers.constant }

    func deleteVehicle(
        request: Maps_Fleetengine_V1_DeleteVehicleRequest, context: ServerContext
    ) async throws -> Google_Protobuf_Empty { .init() }

    func updateVehicleAttributes(
        request: Maps_Fleetengine_V1_UpdateVehicleAttributesRequest, context: ServerContext
    ) async throws -> Maps_Fleetengine_V1_UpdateVehicleAttributesResponse { .init() }

    func listVehicles(
        request: Maps_Fleetengine_V1_ListVehiclesRequest, context: ServerContext
    ) async throws -> Maps_Fleetengine_V1_ListVehiclesResponse { .init() }

    func searchVehicles(
        request: Maps_Fleetengine_V1_SearchVehiclesRequest, context: ServerContext
    ) async throws -> Maps_Fleetengine_V1_SearchVehiclesResponse { .init() }
}

/// Answers each look at a trip with the same one.
struct ConstantTrips: Maps_Fleetengine_V1_TripService.SimpleServiceProtocol {
    func getTrip(
        request: Maps_Fleetengine_V1_GetTripRequest, context: ServerContext
    ) async throws -> Trip { BenchServers.constantTrip }

    func createTrip(
        request: Maps_Fleetengine_V1_CreateTripRequest, context: ServerContext
    ) async throws -> Trip { BenchServers.constantTrip }

    func updateTrip(
        request: Maps_Fleetengine_V1_UpdateTripRequest, context: ServerContext
    ) async throws -> Trip { BenchServers.constantTrip }

    func deleteTrip(
        request: Maps_Fleetengine_V1_DeleteTripRequest, context: ServerContext
    ) async throws -> Google_Protobuf_Empty { .init() }

    func searchTrips(
        request: Maps_Fleetengine_V1_SearchTripsRequest, context: ServerContext
    ) async throws -> Maps_Fleetengine_V1_SearchTripsResponse { .init() }

    func reportBillableTrip(
        request: Maps_Fleetengine_V1_ReportBillableTripRequest, context: ServerContext
    ) async throws -> Google_Protobuf_Empty { .init() }
}
