// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngine
import FleetEngineAPI
import Foundation
import Logging

/// A store with many vehicles on one node: what it takes in memory, how fast it starts, finds and takes reports.
struct VehiclesBench {
    /// How many vehicles.
    let count: Int

    private static let searches = 2000
    private static let updateSeconds = 10.0

    func run() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "bench.sqlite").path(percentEncoded: false)
            let logger = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
            let cities = Cities(vehicles: self.count)
            let clock = ContinuousClock()

            let filling = try await clock.measure { try await cities.fill(storeAt: path, logger: logger) }
            let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
            self.row("rows stored in bulk", "%.0f/s", Double(self.count) / filling.seconds)
            self.row("store on disk", "%.0f bytes a vehicle", Double(size) / Double(self.count))

            let account = try await BenchAccount()
            let before = ProcessUse.anonymousBytes
            let start = clock.now
            let store = try SQLiteStore(path: path, logger: logger)
            let engine = Engine(store: store, verifier: account.verifier, logger: logger)
            self.row("start", "%.0f ms", (clock.now - start).seconds * 1000)
            let servers = try await BenchServers.start(engine: engine, logger: logger)

            func fleet(clients: Int) -> Fleet {
                Fleet(restURL: servers.restURL, grpcPort: servers.grpcPort, token: account.token, clients: clients)
            }
            try await self.search(cities, fleet(clients: 1))
            try await self.update(cities, fleet(clients: ServingBench.clients))
            let growth = ProcessUse.anonymousBytes - before
            self.row(
                "memory beyond the store, clients included", "%.0f bytes a vehicle",
                Double(growth) / Double(self.count))
            servers.stop()
            try await store.close()
        }
    }

    private func search(_ cities: Cities, _ fleet: Fleet) async throws {
        for radius in [Int32(2000), 10_000] {
            let sample = try await fleet.repeat(Self.searches) { number in
                try await fleet.search(about: cities.place(of: number &* 7919), radius: radius)
            }
            self.row(
                "nearest 50 within \(radius / 1000) km, one client", "p50 %.2f ms, p99 %.2f ms", sample.p50, sample.p99)
        }
        try await fleet.stop()
    }

    private func update(_ cities: Cities, _ fleet: Fleet) async throws {
        let sample = try await fleet.load(for: Self.updateSeconds) { _ in
            try await fleet.report(cities.name(Int.random(in: 0..<self.count)))
        }
        self.row(
            "durable updates of any of them over gRPC, \(ServingBench.clients) clients",
            "%.0f/s, p50 %.1f ms, p99 %.1f ms, %.0f µs of processor", sample.rate, sample.p50, sample.p99, sample.cost)
        try await fleet.stop()
    }

    private func row(_ what: String, _ format: String, _ values: Double...) {
        print("| \(self.count) vehicles: \(what) | \(String(format: format, arguments: values)) |")
    }
}

extension Duration {
    /// The duration in seconds.
    var seconds: Double { self / .seconds(1) }
}
