// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import GRPCCore
import GRPCProtobuf
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Testing

@testable import FleetEngine

/// Requests that are almost right, in great number: none ends the process, and none is answered as a fault of ours.
///
/// Each is made from its seed and the descriptors of its message, and goes through the real adapter, below the socket.
/// `FLEETPASS_FUZZ_INPUTS` sets how many each test sends; `FLEETPASS_FUZZ_SEED` where it begins.
@Suite(.timeLimit(.minutes(600))) struct EngineFuzzTests {
    static let seeds: Range<UInt64> = {
        func number(_ name: String) -> UInt64? { ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } }
        let first = number("FLEETPASS_FUZZ_SEED") ?? 1
        return first..<first + (number("FLEETPASS_FUZZ_INPUTS") ?? 2000)
    }()

    /// Sends one request for each seed, and counts what comes of them by name.
    ///
    /// A world that serves long holds much, so others follow; to meet the same things again, a run begins where its world
    /// does.
    private static func count<Target>(
        over kind: StoreKind, _ prepare: (FuzzWorld) -> Target,
        _ send: (Target, FuzzWorld, UInt64) async throws -> String
    ) async throws -> [String: Int] {
        var counts: [String: Int] = [:]
        var next = Self.seeds.lowerBound
        while next < Self.seeds.upperBound {
            let end = min((next / FuzzWorld.requests + 1) * FuzzWorld.requests, Self.seeds.upperBound)
            try await kind.withStore { store in
                let world = try await FuzzWorld(store: store)
                let target = prepare(world)
                for seed in next..<end { counts[try await send(target, world, seed), default: 0] += 1 }
            }
            next = end
        }
        print(
            "\(Self.seeds.count) requests over \(kind) from seed \(Self.seeds.lowerBound): "
                + "\(counts.sorted { $0.key < $1.key })")
        return counts
    }

    @Test(arguments: StoreKind.allCases)
    func `no request over REST is a fault of the server's`(kind: StoreKind) async throws {
        let context = FuzzContext(source: FuzzContext.Source(logger: Logger(label: "fuzz")))
        let counts = try await Self.count(over: kind, Self.responder) { responder, world, seed in
            let fuzz = HTTPFuzz(seed: seed, pageTokens: world.pageTokens)
            let head = HTTPRequest(
                method: fuzz.verb, scheme: "http", authority: "localhost", path: fuzz.uri, headerFields: fuzz.headers)
            let response = try await responder.respond(
                to: Request(head: head, body: RequestBody(buffer: ByteBuffer(bytes: fuzz.body))), context: context)
            if response.status.code >= 500 {
                Issue.record("seed \(seed): \(response.status) \(fuzz.verb) \(fuzz.uri)")
            }
            return "\(response.status.code)"
        }
        // All kinds of answers were seen, so the requests went deep enough to mean something.
        for status in ["200", "400", "401", "403", "404", "409"] {
            #expect(counts[status, default: 0] > 0, "\(counts)")
        }
        #expect(counts["200", default: 0] * 10 > Self.seeds.count, "\(counts)")
    }

    private static func responder(of world: FuzzWorld) -> RouterResponder<FuzzContext> {
        let router = Router(context: FuzzContext.self)
        EngineRoutes(engine: world.engine).add(to: router)
        return router.buildResponder()
    }

    @Test(arguments: StoreKind.allCases)
    func `no message over gRPC is a fault of the server's`(kind: StoreKind) async throws {
        let counts = try await Self.count(over: kind, { GRPCAdapter(engine: $0.engine) }) { adapter, world, seed in
            let fuzz = RPCFuzz(seed: seed, pageTokens: world.pageTokens)
            let entry = try #require(RPCEntry.all[fuzz.method])
            do {
                _ = try await entry.call(adapter, fuzz.metadata, fuzz.message)
                return "ok"
            } catch {
                let code = Self.code(of: error)
                if [.unknown, .internalError, .unavailable, .dataLoss].contains(code) {
                    Issue.record("seed \(seed): \(code) of \(fuzz.method.name)")
                }
                return "\(code)"
            }
        }
        let codes: [RPCError.Code] = [
            .invalidArgument, .unauthenticated, .permissionDenied, .notFound, .alreadyExists, .failedPrecondition,
        ]
        for code in codes { #expect(counts["\(code)", default: 0] > 0, "\(counts)") }
        #expect(counts["ok", default: 0] * 10 > Self.seeds.count, "\(counts)")
    }

    /// The code that gRPC sends for an error.
    private static func code(of error: any Error) -> RPCError.Code {
        (error as? RPCError)?.code ?? (error as? any RPCErrorConvertible)?.rpcErrorCode ?? .unknown
    }

    @Test func `requests follow from their seeds, and call every method`() {
        let calls = (UInt64(1)...500).map { RPCFuzz(seed: $0, pageTokens: []) }
        #expect(calls.map(\.message) == (UInt64(1)...500).map { RPCFuzz(seed: $0, pageTokens: []).message })
        #expect(Set(calls.map(\.method)) == Set(FleetMethod.allCases))
        #expect(Set(RPCEntry.all.keys) == Set(FleetMethod.allCases))
    }
}

/// The context of a request that came over no channel.
private struct FuzzContext: RequestContext {
    struct Source: RequestContextSource {
        let logger: Logger
    }

    var coreContext: CoreRequestContextStorage

    init(source: Source) { self.coreContext = CoreRequestContextStorage(source: source) }
}
