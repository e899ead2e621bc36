// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import SwiftProtobuf
import Testing

@testable import FleetEngine

/// Requests that are almost right, in great number: none ends the process, and none is answered as a fault of ours.
///
/// Each is made from its seed. `FLEETPASS_FUZZ_INPUTS` sets how many each test sends; `FLEETPASS_FUZZ_SEED` where it
/// begins.
@Suite(.timeLimit(.minutes(600))) struct EngineFuzzTests {
    static let seeds: Range<UInt64> = {
        func number(_ name: String) -> UInt64? { ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } }
        let first = number("FLEETPASS_FUZZ_SEED") ?? 1
        return first..<first + (number("FLEETPASS_FUZZ_INPUTS") ?? 2000)
    }()
    /// An engine serves so many before a new one takes over, so that what it keeps does not grow without end.
    static let perEngine = 5000

    private static func engine() -> Engine { Engine(store: MemoryStore(), verifier: TextVerifier()) }

    @Test func `no request over REST is a fault of the server's`() async throws {
        var counts: [Int: Int] = [:]
        var seed = Self.seeds.lowerBound
        while seed < Self.seeds.upperBound {
            let end = min(seed + UInt64(Self.perEngine), Self.seeds.upperBound)
            let range = seed..<end
            let router = Router()
            EngineRoutes(engine: Self.engine()).add(to: router)
            let found = try await Application(router: router).test(.router) { client in
                var counts: [Int: Int] = [:]
                for seed in range {
                    var random = RequestFuzz(seed)
                    let request = random.request()
                    let answer = try await client.execute(
                        uri: request.uri, method: request.verb, headers: [.authorization: "Bearer \(request.token)"],
                        body: ByteBuffer(bytes: request.body))
                    counts[answer.status.code, default: 0] += 1
                    if answer.status.code >= 500 {
                        Issue.record("seed \(seed): \(answer.status) \(request.verb) \(request.uri)")
                    }
                }
                return counts
            }
            counts.merge(found, uniquingKeysWith: +)
            seed = end
        }
        // All kinds of answers were seen, so the requests went deep enough to mean something.
        for status in [200, 400, 403, 404] { #expect(counts[status, default: 0] > 0, "\(counts)") }
    }

    @Test func `no message over gRPC is a fault of the server's`() async throws {
        let calls: [@Sendable (Engine, [UInt8], String) async throws -> EngineError.Code?] = [
            Self.read(GetVehicle.self), Self.read(ListVehicles.self), Self.read(SearchVehicles.self),
            Self.write(CreateVehicle.self), Self.write(UpdateVehicle.self), Self.write(UpdateVehicleAttributes.self),
            Self.write(DeleteVehicle.self), Self.read(GetTrip.self), Self.read(SearchTrips.self),
            Self.write(CreateTrip.self), Self.write(UpdateTrip.self), Self.write(DeleteTrip.self),
            Self.read(ReportBillableTrip.self), Self.read(GetDeliveryVehicle.self),
            Self.read(ListDeliveryVehicles.self), Self.write(CreateDeliveryVehicle.self),
            Self.write(UpdateDeliveryVehicle.self), Self.write(DeleteDeliveryVehicle.self), Self.read(GetTask.self),
            Self.read(ListTasks.self), Self.read(GetTaskTrackingInfo.self), Self.write(CreateTask.self),
            Self.write(BatchCreateTasks.self), Self.write(UpdateTask.self), Self.write(DeleteTask.self),
        ]
        var engine = Self.engine()
        var (unreadable, refused, answered) = (0, 0, 0)
        for seed in Self.seeds {
            if seed % UInt64(Self.perEngine) == 0 { engine = Self.engine() }
            var random = RequestFuzz(seed)
            let call = random.pick(calls)
            do {
                switch try await call(engine, random.message(depth: 0), random.token()) {
                case nil: answered += 1
                case .internalError, .unavailable: Issue.record("seed \(seed): a fault of the server's")
                default: refused += 1
                }
            } catch is BinaryDecodingError {
                unreadable += 1
            }
        }
        #expect(unreadable > 0 && refused > 0 && answered > 0, "\(unreadable) \(refused) \(answered)")
    }

    private static func read<Call: ReadingCall>(
        _ call: Call.Type
    ) -> @Sendable (Engine, [UInt8], String) async throws -> EngineError.Code? {
        { engine, bytes, token in
            let request = try Call.Request(serializedBytes: bytes)
            return await Self.code { () async throws(EngineError) in
                _ = try await engine.perform(call, request, token: token)
            }
        }
    }

    private static func write<Call: WritingCall>(
        _ call: Call.Type
    ) -> @Sendable (Engine, [UInt8], String) async throws -> EngineError.Code? {
        { engine, bytes, token in
            let request = try Call.Request(serializedBytes: bytes)
            return await Self.code { () async throws(EngineError) in
                _ = try await engine.perform(call, request, token: token)
            }
        }
    }

    private static func code(_ body: () async throws(EngineError) -> Void) async -> EngineError.Code? {
        do throws(EngineError) {
            try await body()
            return nil
        } catch {
            return error.code
        }
    }
}
