// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
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

/// Requests that are almost right, in great number: none ends the process, none is answered as a fault of ours, an engine
/// over each store answers with the same bytes, and what REST and gRPC both can say is answered alike over either.
///
/// Each is made from its seed and the descriptors of its message, and goes through the real adapter, below the socket.
/// `FLEETPASS_FUZZ_INPUTS` sets how many each test sends; `FLEETPASS_FUZZ_SEED` where it begins.
@Suite(.timeLimit(.minutes(600))) struct EngineFuzzTests {
    static let seeds: Range<UInt64> = {
        func number(_ name: String) -> UInt64? { ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } }
        let first = number("FLEETPASS_FUZZ_SEED") ?? 1
        return first..<first + (number("FLEETPASS_FUZZ_INPUTS") ?? 2000)
    }()

    /// The seeds of each world in turn.
    ///
    /// One that serves long holds much, so others follow; to meet the same things again, a run begins where its world does.
    private static var worlds: [Range<UInt64>] {
        let size = FuzzWorld.requests
        return stride(from: Self.seeds.lowerBound / size * size, to: Self.seeds.upperBound, by: Int(size)).map {
            max($0, Self.seeds.lowerBound)..<min($0 + size, Self.seeds.upperBound)
        }
    }

    /// What came of a request.
    private struct Answer: Equatable, CustomStringConvertible {
        /// The status or code.
        let kind: String
        /// The RPC that succeeded, where one did.
        var success: FleetMethod?
        /// The message of the answer.
        var body: [UInt8] = []

        var description: String { "\(self.kind) \(String(decoding: self.body, as: UTF8.self))" }
    }

    /// What came of requests.
    private struct Answers {
        /// How many there were of each kind.
        var counts: [String: Int] = [:]
        /// How many requests succeeded, of each RPC.
        var successes: [FleetMethod: Int] = [:]

        mutating func add(_ answer: Answer) {
            self.counts[answer.kind, default: 0] += 1
            if let method = answer.success { self.successes[method, default: 0] += 1 }
        }
    }

    /// Sends one request for each seed to an engine over each store, all of which answer it alike, and counts what comes
    /// of them.
    private static func count<Target>(
        _ prepare: (FuzzWorld) -> Target, _ send: (Target, FuzzWorld, UInt64) async throws -> Answer
    ) async throws -> Answers {
        var answers = Answers()
        for seeds in Self.worlds {
            var first: [Answer] = []
            for kind in StoreKind.allCases {
                let given = try await kind.withStore { store in
                    let world = try await FuzzWorld(store: store)
                    let target = prepare(world)
                    var given: [Answer] = []
                    for seed in seeds { given.append(try await send(target, world, seed)) }
                    try await Self.expectSound(store, "before seed \(seeds.upperBound)")
                    return given
                }
                if first.isEmpty { first = given }
                if let (seed, (answer, other)) = zip(seeds, zip(given, first)).first(where: { $1.0 != $1.1 }) {
                    Issue.record("seed \(seed): \(kind) has \(answer), not \(other)")
                }
            }
            for answer in first { answers.add(answer) }
        }
        print(
            "\(Self.seeds.count) requests from seed \(Self.seeds.lowerBound): "
                + "\(answers.counts.sorted { $0.key < $1.key }), succeeded: "
                + "\(answers.successes.map { ($0.key.name, $0.value) }.sorted { $0.0 < $1.0 })")
        return answers
    }

    @Test func `no request over REST is a fault of the server's`() async throws {
        let answers = try await Self.count(Self.responder) { responder, world, seed in
            let fuzz = HTTPFuzz(seed: seed, pages: world.pages)
            let answer = try await Self.answer(to: fuzz, from: responder)
            if answer.kind.hasPrefix("5") {
                Issue.record("seed \(seed): \(answer.kind) \(fuzz.verb) \(fuzz.uri)")
            }
            return answer
        }
        Self.expectDepth(of: answers, kinds: ["200", "400", "401", "403", "404", "409"])
    }

    @Test func `no message over gRPC is a fault of the server's`() async throws {
        let answers = try await Self.count({ GRPCAdapter(engine: $0.engine) }) { adapter, world, seed in
            let fuzz = RPCFuzz(seed: seed, pages: world.pages)
            let answer = try await Self.answer(to: fuzz, from: adapter)
            if ["UNKNOWN", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"].contains(answer.kind) {
                Issue.record("seed \(seed): \(answer.kind) of \(fuzz.method.name)")
            }
            return answer
        }
        let kinds = [
            "INVALID_ARGUMENT", "UNAUTHENTICATED", "PERMISSION_DENIED", "NOT_FOUND", "ALREADY_EXISTS",
            "FAILED_PRECONDITION",
        ]
        Self.expectDepth(of: answers, kinds: kinds)
    }

    @Test func `a request is answered alike over REST and gRPC`() async throws {
        var answers = Answers()
        for seeds in Self.worlds {
            let (one, other) = (try await FuzzWorld(store: MemoryStore()), try await FuzzWorld(store: MemoryStore()))
            let (responder, adapter) = (Self.responder(of: one), GRPCAdapter(engine: other.engine))
            for seed in seeds {
                let http = HTTPFuzz(seed: seed, pages: one.pages, wildness: 0)
                let rpc = RPCFuzz(seed: seed, pages: other.pages, wildness: 0)
                let rest = try await Self.answer(to: http, from: responder)
                let grpc = try await Self.answer(to: rpc, from: adapter)
                let call = "seed \(seed): \(http.verb) \(http.uri)"
                #expect(rest.success == grpc.success, "\(call)")
                if rest.success != nil, grpc.success != nil {
                    let isSame = try RPCEntry.all[rpc.method]?.isSame(grpc.body, rest.body)
                    #expect(isSame == true, "\(call)")
                } else {
                    let error = try JSONValue(parsing: rest.body).object?["error"]?.object
                    #expect(error?["status"] == .string(grpc.kind), "\(call)")
                    #expect(error?["message"]?.string == String(decoding: grpc.body, as: UTF8.self), "\(call)")
                }
                answers.add(grpc)
            }
        }
        Self.expectDepth(
            of: answers,
            kinds: ["INVALID_ARGUMENT", "PERMISSION_DENIED", "NOT_FOUND", "ALREADY_EXISTS", "FAILED_PRECONDITION"])
    }

    private static func responder(of world: FuzzWorld) -> RouterResponder<FuzzContext> {
        let router = Router(context: FuzzContext.self)
        EngineRoutes(engine: world.engine).add(to: router)
        return router.buildResponder()
    }

    private static func answer(to fuzz: HTTPFuzz, from responder: RouterResponder<FuzzContext>) async throws -> Answer {
        let head = HTTPRequest(
            method: fuzz.verb, scheme: "http", authority: "localhost", path: fuzz.uri, headerFields: fuzz.headers)
        let request = Request(head: head, body: RequestBody(buffer: ByteBuffer(bytes: fuzz.body)))
        let context = FuzzContext(source: FuzzContext.Source(logger: Logger(label: "fuzz")))
        let response = try await responder.respond(to: request, context: context)
        let isSuccess = response.status == .ok
        let match = isSuccess ? try HTTPMatch(verb: fuzz.verb, path: request.uri.path) : nil
        let writer = FuzzWriter()
        try await response.body.write(writer)
        return Answer(kind: "\(response.status.code)", success: match?.rule.method, body: writer.bytes)
    }

    private static func answer(to fuzz: RPCFuzz, from adapter: GRPCAdapter) async throws -> Answer {
        let entry = try #require(RPCEntry.all[fuzz.method])
        do {
            return Answer(
                kind: "OK", success: fuzz.method, body: try await entry.call(adapter, fuzz.metadata, fuzz.message))
        } catch let status as GoogleRPCStatus {
            return Answer(kind: FieldName.snakeCase("\(status.code)").uppercased(), body: Array(status.message.utf8))
        } catch {
            // The library could not read the message.
            return Answer(kind: FieldName.snakeCase("\((error as? RPCError)?.code ?? .unknown)").uppercased())
        }
    }

    /// All kinds of answers were seen, and each RPC often did what it is for, so the requests went deep enough to mean
    /// something.
    private static func expectDepth(of answers: Answers, kinds: [String]) {
        for kind in kinds { #expect(answers.counts[kind, default: 0] > 0, "\(kind)") }
        for method in FleetMethod.allCases {
            #expect(answers.successes[method, default: 0] * 1000 > Self.seeds.count, "\(method.name)")
        }
    }

    /// What requests left can be read from the tables, and is what the store gives for each one's id, which it may have
    /// kept in memory since it was put.
    private static func expectSound(_ store: any EngineStore, _ moment: String) async throws {
        func expect<Resource: StoredResource>(_ type: Resource.Type, of provider: ProviderID) async throws {
            let rows = try await store.read { reader in
                var rows: [(id: FleetID<Resource.Kind>, resource: Resource)] = []
                try reader.scan(StoreScan(), of: provider) { (id, resource: Resource) in
                    rows.append((try #require(FleetID(id)), resource))
                    return true
                }
                return rows
            }
            for row in rows {
                let kept = try await store.read { try $0.find(row.id, of: provider, as: Resource.self) }
                #expect(kept == row.resource, "\(row.id) \(moment)")
            }
        }
        for provider in try await store.read({ try $0.providers() }) {
            try await expect(Vehicle.self, of: provider)
            try await expect(Trip.self, of: provider)
            try await expect(DeliveryVehicle.self, of: provider)
            try await expect(DeliveryTask.self, of: provider)
        }
    }

    @Test func `requests follow from their seeds, and call every method`() {
        let calls = (UInt64(1)...500).map { RPCFuzz(seed: $0, pages: []) }
        #expect(calls.map(\.message) == (UInt64(1)...500).map { RPCFuzz(seed: $0, pages: []).message })
        #expect(Set(calls.map(\.method)) == Set(FleetMethod.allCases))
        #expect(Set(RPCEntry.all.keys) == Set(FleetMethod.allCases))
    }
}

/// Takes the body of an answer.
private final class FuzzWriter: ResponseBodyWriter {
    private(set) var bytes: [UInt8] = []

    func write(_ buffer: ByteBuffer) async throws { self.bytes += buffer.readableBytesView }

    func finish(_ trailingHeaders: HTTPFields?) async throws {}
}

/// The context of a request that came over no channel.
private struct FuzzContext: RequestContext {
    struct Source: RequestContextSource {
        let logger: Logger
    }

    var coreContext: CoreRequestContextStorage

    init(source: Source) { self.coreContext = CoreRequestContextStorage(source: source) }
}
