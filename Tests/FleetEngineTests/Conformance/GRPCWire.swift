// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import GRPCProtobuf
import SwiftProtobuf

@testable import FleetEngine

/// A gRPC client over a real socket.
struct GRPCWire: WireClient {
    let client: GRPCClient<HTTP2ClientTransport.Posix>

    static func withClient<Result: Sendable>(
        of engine: Engine, _ body: (GRPCWire) async throws -> Result
    ) async throws -> Result {
        let server = EngineGRPCServer(engine: engine, host: "127.0.0.1", port: 0)
        async let serving: Void = server.run()
        let result = try await withGRPCClient(
            transport: .http2NIOPosix(
                target: .ipv4(address: "127.0.0.1", port: server.port), transportSecurity: .plaintext)
        ) { client in
            try await body(GRPCWire(client: client))
        }
        server.beginShutdown()
        try await serving
        return result
    }

    func send(_ call: WireCall, authorization: String?) async throws -> Data {
        try await self.send(call, metadata: authorization.map { ["authorization": .string($0)] } ?? [:])
    }

    func send(_ call: WireCall, metadata: Metadata) async throws -> Data {
        let vehicles = Maps_Fleetengine_V1_VehicleService.Client(wrapping: self.client)
        let trips = Maps_Fleetengine_V1_TripService.Client(wrapping: self.client)
        let deliveries = Maps_Fleetengine_Delivery_V1_DeliveryService.Client(wrapping: self.client)
        do {
            return switch call {
            case .createVehicle(let it): try await vehicles.createVehicle(it, metadata: metadata).serializedBytes()
            case .getVehicle(let it): try await vehicles.getVehicle(it, metadata: metadata).serializedBytes()
            case .updateVehicle(let it): try await vehicles.updateVehicle(it, metadata: metadata).serializedBytes()
            case .updateVehicleAttributes(let it):
                try await vehicles.updateVehicleAttributes(it, metadata: metadata).serializedBytes()
            case .deleteVehicle(let it): try await vehicles.deleteVehicle(it, metadata: metadata).serializedBytes()
            case .listVehicles(let it): try await vehicles.listVehicles(it, metadata: metadata).serializedBytes()
            case .searchVehicles(let it): try await vehicles.searchVehicles(it, metadata: metadata).serializedBytes()
            case .createTrip(let it): try await trips.createTrip(it, metadata: metadata).serializedBytes()
            case .getTrip(let it): try await trips.getTrip(it, metadata: metadata).serializedBytes()
            case .updateTrip(let it): try await trips.updateTrip(it, metadata: metadata).serializedBytes()
            case .deleteTrip(let it): try await trips.deleteTrip(it, metadata: metadata).serializedBytes()
            case .searchTrips(let it): try await trips.searchTrips(it, metadata: metadata).serializedBytes()
            case .reportBillableTrip(let it):
                try await trips.reportBillableTrip(it, metadata: metadata).serializedBytes()
            case .createDeliveryVehicle(let it):
                try await deliveries.createDeliveryVehicle(it, metadata: metadata).serializedBytes()
            case .getDeliveryVehicle(let it):
                try await deliveries.getDeliveryVehicle(it, metadata: metadata).serializedBytes()
            case .updateDeliveryVehicle(let it):
                try await deliveries.updateDeliveryVehicle(it, metadata: metadata).serializedBytes()
            case .deleteDeliveryVehicle(let it):
                try await deliveries.deleteDeliveryVehicle(it, metadata: metadata).serializedBytes()
            case .listDeliveryVehicles(let it):
                try await deliveries.listDeliveryVehicles(it, metadata: metadata).serializedBytes()
            case .createTask(let it): try await deliveries.createTask(it, metadata: metadata).serializedBytes()
            case .batchCreateTasks(let it):
                try await deliveries.batchCreateTasks(it, metadata: metadata).serializedBytes()
            case .getTask(let it): try await deliveries.getTask(it, metadata: metadata).serializedBytes()
            case .updateTask(let it): try await deliveries.updateTask(it, metadata: metadata).serializedBytes()
            case .deleteTask(let it): try await deliveries.deleteTask(it, metadata: metadata).serializedBytes()
            case .listTasks(let it): try await deliveries.listTasks(it, metadata: metadata).serializedBytes()
            case .getTaskTrackingInfo(let it):
                try await deliveries.getTaskTrackingInfo(it, metadata: metadata).serializedBytes()
            }
        } catch let error as RPCError {
            throw try Self.failure(error)
        }
    }

    /// Sends bytes to GetVehicle that are no message.
    func sendUnreadable(_ metadata: Metadata) async throws {
        do {
            try await self.client.unary(
                request: ClientRequest(message: [0xFF, 0xFF, 0xFF, 0xFF], metadata: metadata),
                descriptor: Maps_Fleetengine_V1_VehicleService.Method.GetVehicle.descriptor,
                serializer: AsIs(), deserializer: ProtobufDeserializer<Vehicle>(), options: .defaults
            ) { response in
                _ = try response.message
            }
        } catch let error as RPCError {
            throw try Self.failure(error)
        }
    }

    /// Sends GetVehicle two requests in one call.
    func sendTwice(_ metadata: Metadata) async throws {
        do {
            let request = GetVehicle.Request.with { $0.name = "providers/acme/vehicles/veh-1" }
            try await self.client.clientStreaming(
                request: StreamingClientRequest(metadata: metadata) { writer in
                    try await writer.write(contentsOf: [request, request])
                },
                descriptor: Maps_Fleetengine_V1_VehicleService.Method.GetVehicle.descriptor,
                serializer: ProtobufSerializer<GetVehicle.Request>(), deserializer: ProtobufDeserializer<Vehicle>(),
                options: .defaults
            ) { response in
                _ = try response.message
            }
        } catch let error as RPCError {
            throw try Self.failure(error)
        }
    }

    /// Sends bytes that are a message already, or none.
    private struct AsIs: MessageSerializer {
        func serialize<Bytes: GRPCContiguousBytes>(_ message: [UInt8]) -> Bytes { Bytes(message) }
    }

    /// What an error says in its details; the error itself where they do not say the same.
    private static func failure(_ error: RPCError) throws -> any Error {
        let details = try error.unpackGoogleRPCStatus()
        let info = details?.details.compactMap(\.errorInfo).first
        guard details?.code == error.code, details?.message == error.message,
            info?.domain == "fleetengine.googleapis.com"
        else { return error }
        return WireFailure(status: Self.word(error.code), reason: info?.reason ?? "", message: error.message)
    }

    static func word(_ code: RPCError.Code) -> String {
        code.description.reduce(into: "") { $0 += ($1.isUppercase ? "_" : "") + $1.uppercased() }
    }
}
