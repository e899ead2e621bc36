// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetOperation
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import Hummingbird
import Logging
import NIOCore
import SwiftProtobuf

/// Servers like the engine's that answer the calls of the benchmark with what the engine answered once.
struct ConstantServers: Sendable {
    let restURL: String
    let grpcPort: Int
    /// Answers bytes through the library, past the generated code.
    let bytesPort: Int
    /// Answers bytes past the library.
    let framesPort: Int
    private let frames: PlainFrames
    private let tasks: [Task<Void, any Error>]

    static func start(answering answers: Fleet.Answers, logger: Logger) async throws -> Self {
        let router = Router()
        router.put("/v1/**") { request, _ in
            _ = try await request.body.collect(upTo: 1 << 20)
            return Self.json(answers.vehicleJSON)
        }
        router.get("/v1/**") { _, _ in Self.json(answers.tripJSON) }
        let http = try await BenchHTTP.start(router.buildResponder(), logger: logger)
        let grpc = Self.server([ConstantVehicles(answer: answers.vehicle), ConstantTrips(answer: answers.trip)])
        let bytes = Self.server([try ConstantBytes(answering: answers.trip)])
        let frames = try await PlainFrames.start(answering: answers.trip)
        let tasks = [http.task, Task { try await grpc.serve() }, Task { try await bytes.serve() }]
        return Self(
            restURL: http.url,
            grpcPort: try await grpc.listeningAddress?.ipv4?.port ?? 0,
            bytesPort: try await bytes.listeningAddress?.ipv4?.port ?? 0,
            framesPort: frames.port,
            frames: frames,
            tasks: tasks
        )
    }

    func stop() async {
        try? await self.frames.stop()
        for task in self.tasks { task.cancel() }
    }

    /// An answer with the engine's headers.
    private static func json(_ body: ByteBuffer) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json; charset=UTF-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: body))
    }

    private static func server(
        _ services: [any RegistrableRPCService]
    ) -> GRPCServer<HTTP2ServerTransport.Posix> {
        GRPCServer(
            transport: .http2NIOPosix(
                address: .ipv4(host: "127.0.0.1", port: 0), transportSecurity: .plaintext),
            services: services
        )
    }
}

/// Answers each update with the same vehicle.
private struct ConstantVehicles: Maps_Fleetengine_V1_VehicleService.SimpleServiceProtocol {
    let answer: Vehicle

    func updateVehicle(
        request: Maps_Fleetengine_V1_UpdateVehicleRequest, context: ServerContext
    ) async throws -> Vehicle { self.answer }

    func createVehicle(
        request: Maps_Fleetengine_V1_CreateVehicleRequest, context: ServerContext
    ) async throws -> Vehicle { self.answer }

    func getVehicle(
        request: Maps_Fleetengine_V1_GetVehicleRequest, context: ServerContext
    ) async throws -> Vehicle { self.answer }

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
private struct ConstantTrips: Maps_Fleetengine_V1_TripService.SimpleServiceProtocol {
    let answer: Trip

    func getTrip(
        request: Maps_Fleetengine_V1_GetTripRequest, context: ServerContext
    ) async throws -> Trip { self.answer }

    func createTrip(
        request: Maps_Fleetengine_V1_CreateTripRequest, context: ServerContext
    ) async throws -> Trip { self.answer }

    func updateTrip(
        request: Maps_Fleetengine_V1_UpdateTripRequest, context: ServerContext
    ) async throws -> Trip { self.answer }

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
