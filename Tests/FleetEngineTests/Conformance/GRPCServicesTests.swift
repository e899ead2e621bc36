// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTestSupport
import FleetTokens
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import GRPCProtobuf
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct GRPCServicesTests {
    private typealias Health = Grpc_Health_V1_Health
    private typealias Reflection = Grpc_Reflection_V1_ServerReflection

    @Test func `health is told of the server and of each service`() async throws {
        try await self.withClient { client in
            let health = Health.Client(wrapping: client)
            for service in ["", "maps.fleetengine.v1.VehicleService", "maps.fleetengine.delivery.v1.DeliveryService"] {
                #expect(try await health.check(.with { $0.service = service }).status == .serving)
            }
            let error = try await #require(throws: RPCError.self) {
                _ = try await health.check(.with { $0.service = "maps.Nothing" })
            }
            #expect(error.code == .notFound)
        }
    }

    @Test func `a store that is gone shows in the health`() async throws {
        let rpcs = HealthRPCs(services: [], isServing: { false }, time: TimeSource(clock: ContinuousClock()))
        let answer = try await withServerContextRPCCancellationHandle { handle in
            try await rpcs.check(request: .init(), context: Self.context(handle))
        }
        #expect(answer.status == .notServing)
    }

    @Test func `however many watch, the store is looked at once`() async {
        let (looks, clock) = (Locked(0), ManualClock())
        let rpcs = HealthRPCs(
            services: [],
            isServing: {
                looks.withLock { $0 += 1 }
                return true
            }, time: TimeSource(clock: clock))
        let heard = AsyncStream.makeStream(of: Grpc_Health_V1_HealthCheckResponse.ServingStatus.self)
        await withThrowingTaskGroup { group in
            var statuses = heard.stream.makeAsyncIterator()
            for number in 1...5 {
                group.addTask {
                    try await withServerContextRPCCancellationHandle { handle in
                        try await rpcs.watch(
                            request: .init(), response: RPCWriter(wrapping: Hearer(heard: heard.continuation)),
                            context: Self.context(handle))
                    }
                }
                #expect(await statuses.next() == .serving)
                await clock.waitForSleepers(number)
            }
            #expect(looks.withLock { $0 } == 1)
            group.cancelAll()
        }
    }

    private struct Hearer: RPCWriterProtocol {
        let heard: AsyncStream<Grpc_Health_V1_HealthCheckResponse.ServingStatus>.Continuation

        func write(_ element: Grpc_Health_V1_HealthCheckResponse) async throws { self.heard.yield(element.status) }

        func write(contentsOf elements: some Sequence<Grpc_Health_V1_HealthCheckResponse>) async throws {
            for element in elements { self.heard.yield(element.status) }
        }
    }

    @Test func `a watcher hears of health at once`() async throws {
        try await self.withClient { client in
            let first = try await Health.Client(wrapping: client).watch(.init()) { response in
                var messages = response.messages.makeAsyncIterator()
                return try await messages.next()?.status
            }
            #expect(first == .serving)
        }
    }

    @Test(arguments: ["grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"])
    func `reflection lists every service and describes each method`(name: String) async throws {
        try await self.withClient { client in
            let method = MethodDescriptor(fullyQualifiedService: name, method: "ServerReflectionInfo")
            let answers = try await Self.ask(
                [.listServices("*"), .fileContainingSymbol("maps.fleetengine.v1.TripService.GetTrip")], method, client)
            let services = try #require(answers.first).listServicesResponse.service.map(\.name)
            #expect(
                services == [
                    "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
                    "maps.fleetengine.delivery.v1.DeliveryService", "maps.fleetengine.v1.TripService",
                    "maps.fleetengine.v1.VehicleService",
                ])
            let files = try #require(answers.last).fileDescriptorResponse.fileDescriptorProto
                .map { try Google_Protobuf_FileDescriptorProto(serializedBytes: $0) }
            // With all that it imports, so that a tool needs one answer.
            let names = Set(files.map(\.name))
            #expect(files.first?.name == "maps/fleetengine/v1/trip_api.proto")
            #expect(files.allSatisfy { names.isSuperset(of: $0.dependency) })
        }
    }

    @Test func `reflection says what it does not know`() async throws {
        try await self.withClient { client in
            let questions: [Grpc_Reflection_V1_ServerReflectionRequest.OneOf_MessageRequest?] = [
                .fileByFilename("no.proto"), .fileContainingSymbol("no.Symbol"), .fileContainingExtension(.init()), nil,
            ]
            let answers = try await Self.ask(questions, Reflection.Method.ServerReflectionInfo.descriptor, client)
            let codes = answers.map(\.errorResponse.errorCode)
            let unknown = Int32(Status.Code.notFound.rawValue)
            #expect(codes == [unknown, unknown, unknown, Int32(Status.Code.invalidArgument.rawValue)])
        }
    }

    @Test(arguments: [CompressionAlgorithm.gzip, .deflate])
    func `compressed messages are understood`(algorithm: CompressionAlgorithm) async throws {
        try await self.withClient { client in
            var options = CallOptions.defaults
            options.compression = algorithm
            let answer = try await Health.Client(wrapping: client).check(.init(), options: options)
            #expect(answer.status == .serving)
        }
    }

    @Test(arguments: [
        ("maps.fleetengine.v1.VehicleService", "UpdateVehicleLocation"),
        ("maps.fleetengine.v1.VehicleService", "SearchFuzzedVehicles"),
        ("maps.fleetengine.delivery.v1.DeliveryService", "SearchTasks"),
    ])
    func `an RPC that the API had once is not implemented`(service: String, name: String) async throws {
        try await self.withClient { client in
            let error = try await #require(throws: RPCError.self) {
                try await client.unary(
                    request: ClientRequest(
                        message: Google_Protobuf_Empty(), metadata: ["authorization": "Bearer \(serverToken)"]),
                    descriptor: MethodDescriptor(fullyQualifiedService: service, method: name),
                    serializer: ProtobufSerializer<Google_Protobuf_Empty>(),
                    deserializer: ProtobufDeserializer<Google_Protobuf_Empty>(),
                    options: .defaults
                ) { response in
                    _ = try response.message
                }
            }
            #expect(error.code == .unimplemented)
        }
    }

    private static func ask(
        _ questions: [Grpc_Reflection_V1_ServerReflectionRequest.OneOf_MessageRequest?], _ method: MethodDescriptor,
        _ client: GRPCClient<HTTP2ClientTransport.Posix>
    ) async throws -> [Grpc_Reflection_V1_ServerReflectionResponse] {
        try await client.bidirectionalStreaming(
            request: StreamingClientRequest { writer in
                for question in questions {
                    try await writer.write(
                        Grpc_Reflection_V1_ServerReflectionRequest.with { $0.messageRequest = question })
                }
            },
            descriptor: method,
            serializer: ProtobufSerializer<Grpc_Reflection_V1_ServerReflectionRequest>(),
            deserializer: ProtobufDeserializer<Grpc_Reflection_V1_ServerReflectionResponse>(),
            options: .defaults
        ) { response in
            try await response.messages.reduce(into: []) { $0.append($1) }
        }
    }

    private static func context(_ handle: ServerContext.RPCCancellationHandle) -> ServerContext {
        ServerContext(
            descriptor: Health.Method.Check.descriptor, remotePeer: "in-process", localPeer: "in-process",
            cancellation: handle)
    }

    private func withClient<Result: Sendable>(
        _ body: (GRPCClient<HTTP2ClientTransport.Posix>) async throws -> Result
    ) async throws -> Result {
        try await GRPCWire.withClient(of: EngineFixture().engine) { try await body($0.client) }
    }
}
