// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngine
import FleetSigning
import FleetTokens
import Foundation
import Logging

/// The engine and a constant by turns.
struct ServingBench {
    /// One kind of call and how often it is repeated at each client.
    private typealias Row = (name: String, call: @Sendable (Int) async throws -> Void)

    static let clients = 256
    private static let rounds = 3
    private static let direct = "updates by calls in the same process"
    private static let belowGeneratedCode = "poll answered by bytes below the generated code"
    private static let belowLibrary = "poll answered by plain frames below the gRPC library"

    /// How long each row runs in each round.
    let seconds: Double
    /// The address of a PostgreSQL database; `nil` for a file.
    let database: String?
    /// The database's first process, where its processor time is to be told too.
    let databaseProcess: DatabaseProcess?

    /// What is measured.
    private struct Parts {
        let engine: Engine
        let account: BenchAccount
        let servers: BenchServers
        let constants: ConstantServers
        let logger: Logger
    }

    /// Serves until the input ends, for clients in another process, and says where.
    func serve() async throws {
        try await self.withParts { parts, _ in
            print(
                "ready engine=\(Self.port(of: parts.servers.restURL)) constant=\(Self.port(of: parts.constants.restURL)) "
                    + "engine_grpc=\(parts.servers.grpcPort) constant_grpc=\(parts.constants.grpcPort) "
                    + "token=\(parts.account.token)")
            fflush(nil)
            await Self.inputEnded()
        }
    }

    /// Waits on a thread of its own: on one core, the servers' tasks have but one, and would stand still for a second.
    private static func inputEnded() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                while readLine() != nil {}
                continuation.resume()
            }
        }
    }

    private static func port(of url: String) -> Int { URL(string: url)?.port ?? 0 }

    func run() async throws {
        try await self.withParts { parts, fleet in
            let constants = parts.constants
            let constant = self.fleet(constants.restURL, constants.grpcPort, parts.account)
            let bytes = self.fleet(constants.restURL, constants.bytesPort, parts.account)
            let frames = self.fleet(constants.restURL, constants.framesPort, parts.account)
            let direct = DirectREST(engine: parts.engine, token: parts.account.token, logger: parts.logger)
            let rows: [Row] = [
                ("updates over REST", fleet.restUpdate),
                ("update answered by a constant over REST", constant.restUpdate),
                ("updates over gRPC", fleet.grpcUpdate),
                ("update answered by a constant over gRPC", constant.grpcUpdate),
                ("polls over REST", fleet.restPoll),
                ("poll answered by a constant over REST", constant.restPoll),
                ("polls over gRPC", fleet.grpcPoll),
                ("poll answered by a constant over gRPC", constant.grpcPoll),
                (Self.direct, fleet.directUpdate(direct)),
                (Self.belowGeneratedCode, bytes.grpcPoll),
                (Self.belowLibrary, frames.grpcPoll),
            ]
            try await self.compare(rows, fleet)
            for fleet in [constant, bytes, frames] { try await fleet.stop() }
        }
    }

    /// Starts the engine and the constants, with a vehicle and a trip for each client.
    private func withParts(_ body: (Parts, Fleet) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let logger = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
            let account = try await BenchAccount()
            let engine: Engine
            if let database {
                let store = try PostgreSQLStore(database, logger: logger)
                engine = Engine(store: store, verifier: account.verifier, logger: logger)
            } else {
                let store = try SQLiteStore(
                    path: folder.appending(path: "bench.sqlite").path(percentEncoded: false), logger: logger)
                engine = Engine(store: store, verifier: account.verifier, logger: logger)
            }
            let servers = try await BenchServers.start(engine: engine, logger: logger)
            let fleet = self.fleet(servers.restURL, servers.grpcPort, account)
            try await fleet.createVehiclesAndTrips()
            let constants = try await ConstantServers.start(answering: fleet.answers(), logger: logger)
            try await body(
                Parts(engine: engine, account: account, servers: servers, constants: constants, logger: logger), fleet)
            try await fleet.stop()
            await constants.stop()
            servers.stop()
        }
    }

    private func fleet(_ restURL: String, _ grpcPort: Int, _ account: BenchAccount) -> Fleet {
        Fleet(
            restURL: restURL, grpcPort: grpcPort, token: account.token, clients: Self.clients,
            database: self.databaseProcess)
    }

    private func compare(_ rows: [Row], _ fleet: Fleet) async throws {
        var samples: [String: [Sample]] = [:]
        for _ in 0..<Self.rounds {
            for row in rows {
                samples[row.name, default: []].append(try await fleet.load(for: self.seconds, row.call))
            }
        }
        let store = self.database == nil ? "" : " and PostgreSQL"
        for (kind, what) in [("update", "durable updates"), ("poll", "unchanged trips polled")] {
            for transport in ["REST", "gRPC"] {
                guard let ours = Sample.median(samples["\(kind)s over \(transport)"] ?? []),
                    let constant = Sample.median(samples["\(kind) answered by a constant over \(transport)"] ?? [])
                else { continue }
                print(
                    String(
                        format: "| %@, %d clients | %.0f/s, p50 %.1f ms, p99 %.1f ms, %.0f µs of processor | "
                            + "constant: %.0f/s, p99 %.1f ms, %.0f µs | %.2f × |",
                        "\(what) over \(transport)\(store)", Self.clients, ours.rate, ours.p50, ours.p99, ours.cost,
                        constant.rate, constant.p99, constant.cost, ours.rate / constant.rate))
                if kind == "update", let cost = ours.databaseCost {
                    let time = String(format: "%.1f µs", cost)
                    print("| the database's processor time for one over \(transport) | \(time) | | |")
                }
                guard kind == "update", let row = rows.first(where: { $0.name == "updates over \(transport)" }) else {
                    continue
                }
                let half = try await fleet.load(for: self.seconds, atRate: ours.rate / 2, row.call)
                print(
                    String(
                        format: "| the same at half load | %.0f/s, p50 %.1f ms, p99 %.1f ms | | |", half.rate,
                        half.p50, half.p99))
            }
        }
        if let direct = Sample.median(samples[Self.direct] ?? []) {
            print(
                String(
                    format: "| durable %@, REST without HTTP%@ | %.0f/s, p50 %.1f ms, p99 %.1f ms, "
                        + "%.0f µs of processor | | |",
                    Self.direct, store, direct.rate, direct.p50, direct.p99, direct.cost))
        }
        guard let constant = Sample.median(samples["poll answered by a constant over gRPC"] ?? []) else { return }
        for name in [Self.belowGeneratedCode, Self.belowLibrary] {
            guard let below = Sample.median(samples[name] ?? []) else { continue }
            print(
                String(
                    format: "| %@ | %.0f/s, %.0f µs of processor | constant: %.0f/s, %.0f µs | %.2f × |", name,
                    below.rate, below.cost, constant.rate, constant.cost, below.rate / constant.rate))
        }
    }
}

/// An account that may do everything on demand, and a token of its.
struct BenchAccount {
    let verifier: TokenVerifier
    let token: String

    init() async throws {
        let provider = try ProviderID(checking: "bench")
        let key = try ServiceAccountKey(generatingFor: "server@bench.iam.gserviceaccount.com", projectID: "bench")
        let minter = TokenMinter(signer: try LocalSigner(key))
        self.token = try await minter.mint(TokenType.server.claims, at: Date()).token.compactSerialization
        self.verifier = TokenVerifier(keys: TrustedKeySet([try key.publicKey(role: .server, provider: provider)]))
    }
}

/// Hands over a folder that goes afterwards.
func withTemporaryFolder(_ body: (URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "fleetpass-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder)
}
