// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import FleetEngine
import FleetEngineAPI
import FleetSigning
import FleetTokens
import Foundation
import GRPCCore
import Logging

// Durable location updates per second over REST and gRPC, beside the same two servers answering a constant.
// Server and clients share this process and machine; the ratio in each row is what counts.
// Arguments: seconds for each row, then the address of a PostgreSQL database to use instead of a file.

let seconds = Double(CommandLine.arguments.dropFirst().first ?? "") ?? 4
let database = CommandLine.arguments.dropFirst(2).first
let rounds = 3
let clients = 64

let folder = FileManager.default.temporaryDirectory.appending(path: "fleetpass-bench-\(UUID().uuidString)")
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: folder) }

let logger = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
let provider = try ProviderID(checking: "bench")
let key = try ServiceAccountKey(generatingFor: "server@bench.iam.gserviceaccount.com", projectID: "bench")
let minter = TokenMinter(signer: try LocalSigner(key))
let token = try await minter.mint(TokenType.server.claims, at: Date()).token.compactSerialization
let verifier = TokenVerifier(keys: TrustedKeySet([try key.publicKey(role: .server, provider: provider)]))
let engine: Engine
if let database {
    engine = Engine(store: try PostgreSQLStore(database, logger: logger), verifier: verifier, logger: logger)
} else {
    let store = try SQLiteStore(path: folder.appending(path: "bench.sqlite").path(), logger: logger)
    engine = Engine(store: store, verifier: verifier, logger: logger)
}

let servers = try await BenchServers.start(engine: engine, logger: logger)
let fleet = Fleet(servers: servers, token: token, clients: clients)
try await fleet.createVehicles()

/// One kind of call and how long each took, in nanoseconds.
var results: [String: [[Double]]] = [:]
let rows: [(name: String, call: @Sendable (Int) async throws -> Void)] = [
    ("REST update", { try await fleet.restUpdate($0, isConstant: false) }),
    ("REST constant", { try await fleet.restUpdate($0, isConstant: true) }),
    ("gRPC update", { try await fleet.grpcUpdate($0, isConstant: false) }),
    ("gRPC constant", { try await fleet.grpcUpdate($0, isConstant: true) }),
]
for _ in 0..<rounds {
    for row in rows { results[row.name, default: []].append(try await fleet.load(for: seconds, row.call)) }
}

func median(_ runs: [[Double]]) -> (rate: Double, p50: Double, p99: Double) {
    let summaries = runs.map { times in
        let sorted = times.sorted()
        return (
            rate: Double(sorted.count) / seconds, p50: sorted[sorted.count / 2] / 1e6,
            p99: sorted[sorted.count * 99 / 100] / 1e6
        )
    }
    return summaries.sorted { $0.rate < $1.rate }[summaries.count / 2]
}

for transport in ["REST", "gRPC"] {
    let (update, constant) = (
        median(results["\(transport) update"] ?? []), median(results["\(transport) constant"] ?? [])
    )
    print(
        String(
            format: "| %@ | %.0f/s, p50 %.1f ms, p99 %.1f ms | constant: %.0f/s, p99 %.1f ms | %.2f × |",
            "durable updates over \(transport)\(database == nil ? "" : " and PostgreSQL"), \(clients) clients",
            update.rate, update.p50, update.p99,
            constant.rate, constant.p99, update.rate / constant.rate))
}
try await fleet.stop()
await servers.stop()
