// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import GRPCCore
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite(.timeLimit(.minutes(10))) struct GRPCAdapterTests {
    private static let call = WireCall.getVehicle(.with { $0.name = "providers/acme/vehicles/veh-1" })

    private func failure(_ metadata: Metadata) async throws -> WireFailure? {
        let engine = Engine(store: MemoryStore(), verifier: TextVerifier())
        return try await GRPCWire.withClient(of: engine) { client in
            do {
                _ = try await client.send(Self.call, metadata: metadata)
                return nil
            } catch let failure as WireFailure {
                return failure
            }
        }
    }

    @Test func `authorization given twice is refused`() async throws {
        var metadata = Metadata()
        metadata.addString("Bearer \(serverToken)", forKey: "authorization")
        metadata.addString("Bearer \(serverToken)", forKey: "authorization")
        let failure = try await self.failure(metadata)
        #expect(failure?.status == "UNAUTHENTICATED")
        #expect(failure?.reason == "TOKEN_MALFORMED")
    }

    @Test func `a good token among other metadata is read`() async throws {
        let failure = try await self.failure([
            "authorization": "bearer \(serverToken)", "x-goog-api-client": "gl-swift/6",
            "x-goog-request-params": "provider_id=providers/other",
        ])
        #expect(failure?.status == "NOT_FOUND")
    }

    @Test func `a token of 15 KiB reaches the verifier`() async throws {
        let token = "server|vehicleid=*|" + String(repeating: "x", count: 15 * 1024) + "=y"
        let failure = try await self.failure(["authorization": .string("Bearer \(token)")])
        #expect(failure?.status != nil)
    }

    @Test func `an error that repeats a long text of the request keeps its status`() async throws {
        let engine = Engine(store: MemoryStore(), verifier: TextVerifier())
        // One character of 40 kB.
        let path = "x" + String(repeating: "\u{301}", count: 20_000)
        let call = WireCall.updateVehicle(
            .with {
                $0.name = "providers/acme/vehicles/veh-1"
                $0.updateMask.paths = [path]
            })
        let failure = try await GRPCWire.withClient(of: engine) { client in
            await #expect(throws: WireFailure.self) {
                _ = try await client.send(call, authorization: "Bearer \(serverToken)")
            }
        }
        #expect(failure?.status == "INVALID_ARGUMENT")
        #expect(failure?.reason == "INVALID_ARGUMENT")
    }

    @Test func `a batch of tasks with too long an answer for clients of gRPC is refused whole`() async throws {
        func batch(_ count: Int) -> WireCall {
            let text = String(repeating: "x", count: 240)
            return .batchCreateTasks(
                .with {
                    $0.parent = "providers/acme"
                    $0.requests = (1...count).map { number in
                        DeliveryWorld.creation(of: "task-\(number)") { task in
                            task.attributes = (1...30).map { index in
                                .with {
                                    $0.key = "key-\(index)"
                                    $0.stringValue = text
                                }
                            }
                        }
                    }
                })
        }
        let engine = Engine(store: MemoryStore(), verifier: TextVerifier())
        let authorization = "Bearer delivery_server|taskids=*"
        let task = WireCall.getTask(.with { $0.name = "providers/acme/tasks/task-1" })
        try await GRPCWire.withClient(of: engine) { client in
            let failure = await #expect(throws: WireFailure.self) {
                _ = try await client.send(batch(500), authorization: authorization)
            }
            #expect(failure?.status == "RESOURCE_EXHAUSTED")
            #expect(failure?.reason == "BODY_TOO_LARGE")
            #expect(failure?.message.contains("create fewer tasks at once") == true)
            let missing = await #expect(throws: WireFailure.self) {
                _ = try await client.send(task, authorization: "Bearer delivery_server|taskid=*")
            }
            #expect(missing?.status == "NOT_FOUND")
            let answer = try await client.send(batch(300), authorization: authorization)
            #expect(answer.count > 2 << 20)
        }
        // Others take it, such as clients of REST.
        let other = DirectWire(engine: Engine(store: MemoryStore(), verifier: TextVerifier()))
        let answer = try await other.send(batch(500), authorization: authorization)
        #expect(answer.count > Paging.maximumBytes)
    }

    @Test func `a request that is too long is refused in words that say what to do`() async throws {
        let engine = Engine(store: MemoryStore(), verifier: TextVerifier())
        let call = WireCall.getVehicle(
            .with { $0.name = String(repeating: "x", count: EngineGRPCServer.maximumRequestBytes) })
        let failure = try await GRPCWire.withClient(of: engine) { client in
            await #expect(throws: WireFailure.self) {
                _ = try await client.send(call, authorization: "Bearer \(serverToken)")
            }
        }
        #expect(failure?.status == "RESOURCE_EXHAUSTED")
        #expect(failure?.reason == "BODY_TOO_LARGE")
        #expect(failure?.message == "The request is longer than 1048576 bytes; send less at once.")
    }

    @Test func `bytes that are no message are refused with a reason, in words that say what to do`() async throws {
        let engine = Engine(store: MemoryStore(), verifier: TextVerifier())
        let failure = try await GRPCWire.withClient(of: engine) { client in
            await #expect(throws: WireFailure.self) {
                try await client.sendUnreadable(["authorization": .string("Bearer \(serverToken)")])
            }
        }
        #expect(failure?.status == "INVALID_ARGUMENT")
        #expect(failure?.reason == "INVALID_ARGUMENT")
        let message = "The call does not carry one message that is a request of GetVehicle; send that in binary."
        #expect(failure?.message == message)
    }

    @Test(arguments: [("Bearer \(serverToken)", "INVALID_ARGUMENT"), (nil, "UNAUTHENTICATED")] as [(String?, String)])
    func `two messages in a call are refused as what they are, and to a stranger for the token`(
        authorization: String?, status: String
    ) async throws {
        let engine = Engine(store: MemoryStore(), verifier: TextVerifier())
        let metadata: Metadata = authorization.map { ["authorization": .string($0)] } ?? [:]
        let failure = try await GRPCWire.withClient(of: engine) { client in
            await #expect(throws: WireFailure.self) { try await client.sendTwice(metadata) }
        }
        #expect(failure?.status == status)
        let isKnown = authorization != nil
        #expect(
            failure?.message.hasPrefix("The call does not carry one message that is a request of GetVehicle") == isKnown
        )
    }

    @Test func `a request of too many fields is refused before anything is made of it`() async throws {
        let engine = Engine(store: MemoryStore(), verifier: TextVerifier())
        // Of 400 KB, where a megabyte may be sent.
        let call = WireCall.updateVehicle(
            .with {
                $0.name = "providers/acme/vehicles/veh-1"
                $0.vehicle.attributes = Array(repeating: VehicleAttribute(), count: 200_000)
            })
        for (authorization, status, reason) in [
            ("Bearer \(serverToken)", "RESOURCE_EXHAUSTED", "BODY_TOO_LARGE"),
            (nil, "UNAUTHENTICATED", "TOKEN_MISSING"),
        ] {
            let failure = try await GRPCWire.withClient(of: engine) { client in
                await #expect(throws: WireFailure.self) {
                    _ = try await client.send(call, authorization: authorization)
                }
            }
            #expect(failure?.status == status)
            #expect(failure?.reason == reason)
        }
    }

    @Test(
        arguments: [
            (50_000, nil, nil), (50_001, nil, 50_000), (50_001, "bad", 50_000), (50_001, serverToken, nil),
            (200_000, serverToken, nil), (200_001, serverToken, 200_000),
        ] as [(Int, String?, Int?)])
    func `of a stranger fewer fields are read than of who carries a good token`(
        fields: Int, token: String?, limit: Int?
    ) async throws {
        let adapter = GRPCAdapter(engine: Engine(store: MemoryStore(), verifier: TextVerifier()))
        let message = [[UInt8]](repeating: [0x0A, 0], count: fields).flatMap { $0 }
        let metadata: Metadata = token.map { ["authorization": .string("Bearer \($0)")] } ?? [:]
        #expect(await adapter.fieldLimit(exceededBy: message, metadata) == limit)
    }

    // MARK: - What a newer client sends

    /// The message with field 1023, which the engine does not know, a text.
    private static func newer<Content: Message>(_ message: Content) throws -> Content {
        let field: [UInt8] = [0xFA, 0x3F, 0x05] + Array("newer".utf8)
        return try Content(serializedBytes: message.serializedBytes() as [UInt8] + field)
    }

    private static func isNewer(_ bytes: Data) -> Bool { bytes.firstRange(of: Data("newer".utf8)) != nil }

    @Test func `fields that the engine does not know change nothing`() async throws {
        let create = CreateVehicle.Request.with {
            $0.parent = "providers/acme"
            $0.vehicleID = "veh-1"
            $0.vehicle.vehicleState = .online
            $0.vehicle.supportedTripTypes = [.exclusive]
            $0.vehicle.maximumCapacity = 4
            $0.vehicle.vehicleType.category = .auto
        }
        var newer = create
        newer.vehicle = try Self.newer(create.vehicle)
        newer = try Self.newer(newer)
        #expect(newer != create)
        func created(_ request: CreateVehicle.Request) async throws -> Vehicle {
            let engine = Engine(store: MemoryStore(), verifier: TextVerifier(), now: { TestClock.start })
            return try await GRPCWire.withClient(of: engine) { client in
                let authorization = "Bearer \(serverToken)"
                _ = try await client.send(.createVehicle(request), authorization: authorization)
                return try Vehicle(serializedBytes: try await client.send(Self.call, authorization: authorization))
            }
        }
        #expect(try await created(newer) == created(create))
    }

    @Test func `fields that the engine does not know are not kept, and no recipient gets them`() async throws {
        let store = MemoryStore()
        let engine = Engine(store: store, verifier: TextVerifier())
        let authorization = "Bearer \(deliveryToken)"
        var creation = DeliveryWorld.creation(of: "task-1")
        creation.task = try Self.newer(creation.task)
        var plan = UpdateDeliveryVehicle.Request.with {
            $0.deliveryVehicle.name = "providers/acme/deliveryVehicles/dv-1"
            $0.deliveryVehicle.remainingVehicleJourneySegments = [.stop(37.43, -122.07, ["task-1"])]
            $0.updateMask.paths = ["remaining_vehicle_journey_segments", "last_location"]
        }
        plan.deliveryVehicle.lastLocation = try Self.newer(.deliveryAt(37.42, -122.07))
        plan.deliveryVehicle.lastLocation.location = try Self.newer(plan.deliveryVehicle.lastLocation.location)
        let calls: [WireCall] = [
            .createDeliveryVehicle(
                .with {
                    $0.parent = "providers/acme"
                    $0.deliveryVehicleID = "dv-1"
                }),
            .createTask(creation), .updateDeliveryVehicle(plan),
            .getTaskTrackingInfo(.with { $0.name = "providers/acme/taskTrackingInfo/shp-1" }),
        ]
        try await GRPCWire.withClient(of: engine) { client in
            for call in calls {
                let answer = try await client.send(call, authorization: authorization)
                #expect(!Self.isNewer(answer), "\(call)")
            }
        }
        let (vehicle, task) = try await store.read { reader in
            (
                try reader.deliveryVehicle(TestID.id("dv-1"), of: TestID.acme),
                try reader.task(TestID.task, of: TestID.acme)
            )
        }
        #expect(vehicle?.lastLocation.location == .at(37.42, -122.07))
        #expect(try vehicle.map { Self.isNewer(try $0.serializedBytes()) } == false)
        #expect(try task.map { Self.isNewer(try $0.serializedBytes()) } == false)
    }

    @Test func `fields that the engine does not know, in a driver's location, reach no passenger`() async throws {
        let engine = Engine(store: MemoryStore(), verifier: TextVerifier())
        let authorization = "Bearer \(serverToken)"
        var report = UpdateVehicle.Request.with {
            $0.name = "providers/acme/vehicles/veh-1"
            $0.updateMask.paths = ["last_location"]
        }
        report.vehicle.lastLocation = try Self.newer(.at(37.42, -122.07))
        let calls: [WireCall] = [
            .createVehicle(
                .with {
                    $0.parent = "providers/acme"
                    $0.vehicleID = "veh-1"
                    $0.vehicle = .sample
                }),
            .createTrip(
                .with {
                    $0.parent = "providers/acme"
                    $0.tripID = "trip-1"
                    $0.trip = .sample
                    $0.trip.vehicleID = "veh-1"
                }),
            .updateVehicle(report), .getTrip(.with { $0.name = "providers/acme/trips/trip-1" }),
        ]
        let answers = try await GRPCWire.withClient(of: engine) { client in
            var answers: [Data] = []
            for call in calls { answers.append(try await client.send(call, authorization: authorization)) }
            return answers
        }
        #expect(answers.map(Self.isNewer) == [false, false, false, false])
        #expect(try Trip(serializedBytes: answers[3]).lastLocation.location == .at(37.42, -122.07))
    }

    @Test func `fields that were stored before they were dropped reach no passenger or recipient`() throws {
        let location = LocationRules.shared(try Self.newer(VehicleLocation.at(37.42, -122.07)))
        #expect(location == .at(37.42, -122.07))
        let delivery = LocationRules.shared(try Self.newer(DeliveryVehicleLocation.deliveryAt(37.42, -122.07)))
        #expect(delivery == .deliveryAt(37.42, -122.07))
    }

    // MARK: - Calls that wait

    @Test func `of calls without a good token few are read, and those with one as ever`() async throws {
        let store = MemoryStore()
        let engine = Engine(store: store, verifier: TextVerifier())
        let limit = StrangerLimit(adapter: GRPCAdapter(engine: engine))
        let method = MethodDescriptor(fullyQualifiedService: "maps.fleetengine.v1.VehicleService", method: "GetVehicle")
        let arrived = AsyncStream.makeStream(of: Void.self)
        let gate = AsyncStream.makeStream(of: Void.self)
        @Sendable func call(_ token: String, _ method: MethodDescriptor = method) async -> RPCError.Code? {
            let request = StreamingServerRequest<Int>(
                metadata: ["authorization": .string("Bearer \(token)")],
                messages: RPCAsyncSequence(wrapping: AsyncThrowingStream { $0.finish() }))
            do {
                let _: StreamingServerResponse<Int> = try await withServerContextRPCCancellationHandle { handle in
                    let context = ServerContext(
                        descriptor: method, remotePeer: "in-process:1", localPeer: "in-process:2", cancellation: handle)
                    return try await limit.intercept(request: request, context: context) { _, _ in
                        arrived.continuation.yield()
                        if token == "bad" { for await _ in gate.stream {} }
                        return StreamingServerResponse(error: RPCError(code: .notFound, message: ""))
                    }
                }
                return nil
            } catch {
                return (error as? any RPCErrorConvertible)?.rpcErrorCode ?? (error as? RPCError)?.code
            }
        }
        await withTaskGroup { group in
            for _ in 0..<StrangerLimit.maximumCalls { group.addTask { _ = await call("bad") } }
            var arrivals = arrived.stream.makeAsyncIterator()
            for _ in 0..<StrangerLimit.maximumCalls { _ = await arrivals.next() }
            #expect(await call("bad") == .unauthenticated)
            #expect(await call(serverToken) == nil)
            gate.continuation.finish()
        }
        #expect(await call("bad") == nil)
        // A batch of tasks may be far longer than other requests, so no stranger's is read.
        let batch = MethodDescriptor(
            fullyQualifiedService: "maps.fleetengine.delivery.v1.DeliveryService", method: "BatchCreateTasks")
        #expect(await call("bad", batch) == .unauthenticated)
        #expect(await call(serverToken, batch) == nil)
    }

    @Test(arguments: [
        WireCall.getVehicle(.with { $0.name = "providers/acme/vehicles/veh-1" }),
        WireCall.updateVehicle(
            .with {
                $0.name = "providers/acme/vehicles/veh-1"
                $0.vehicle.vehicleState = .online
                $0.updateMask.paths = ["vehicle_state"]
            }),
    ]) func `a call that its client gives up waits for nothing any more`(call: WireCall) async throws {
        let store = WaitingStore()
        try await GRPCWire.withClient(of: Engine(store: store, verifier: TextVerifier())) { client in
            let waiting = Task { try await client.send(call, authorization: "Bearer \(serverToken)") }
            var events = store.events.makeAsyncIterator()
            #expect(await events.next() == .began)
            waiting.cancel()
            #expect(await events.next() == .cancelled)
            _ = await waiting.result
        }
    }

    @Test func `a call whose deadline passes waits for nothing any more`() async throws {
        let store = WaitingStore()
        // The client keeps no time of its own, so the call is there whenever the server's runs out.
        let metadata: Metadata = ["authorization": .string("Bearer \(serverToken)"), "grpc-timeout": "50m"]
        try await GRPCWire.withClient(of: Engine(store: store, verifier: TextVerifier())) { client in
            let failure = await #expect(throws: WireFailure.self) {
                _ = try await client.send(Self.call, metadata: metadata)
            }
            #expect(failure?.reason == "CANCELLED")
        }
    }

    @Test func `a port that is taken is an error at once`() async throws {
        let engine = Engine(store: MemoryStore(), verifier: TextVerifier())
        let first = EngineGRPCServer(engine: engine, host: "127.0.0.1", port: 0)
        async let serving: Void = first.run()
        let port = try await first.port
        let second = EngineGRPCServer(engine: engine, host: "127.0.0.1", port: port)
        await #expect(throws: (any Error).self) { try await second.run() }
        await #expect(throws: (any Error).self) { try await second.port }
        first.beginShutdown()
        try await serving
    }
}

/// A store that answers nobody, and tells when a call begins to wait and when it is cancelled.
private struct WaitingStore: EngineStore {
    enum Event: Equatable { case began, cancelled }

    let events: AsyncStream<Event>
    private let announce: AsyncStream<Event>.Continuation

    init() { (self.events, self.announce) = AsyncStream.makeStream() }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineReader) throws -> Result
    ) async throws -> Result { try await self.wait() }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineTransaction) throws -> Result
    ) async throws -> Result { try await self.wait() }

    private func wait<Result>() async throws -> Result {
        self.announce.yield(.began)
        let never = AsyncStream.makeStream(of: Never.self)
        for await _ in never.stream {}
        never.continuation.finish()
        self.announce.yield(.cancelled)
        throw CancellationError()
    }
}
