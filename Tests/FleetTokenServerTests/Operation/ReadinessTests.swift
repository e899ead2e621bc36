// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation
import Logging
import Testing

@testable import FleetTokenServer

@Suite struct ReadinessTests {
    private static let start = Date(timeIntervalSince1970: 1_767_225_600)

    /// A wall clock and a clock that nobody sets.
    final class Clocks: Sendable {
        let wall = Locked(ReadinessTests.start)
        let uptime = Locked(0.0)
        func pass(_ seconds: Double) {
            self.wall.withLock { $0 += seconds }
            self.uptime.withLock { $0 += seconds }
        }
        func set(by seconds: Double) { self.wall.withLock { $0 += seconds } }
    }

    private func readiness(
        _ world: TemporaryStore, _ clocks: Clocks, signs: Bool = true,
        metrics: TokenServerMetrics = TokenServerMetrics()
    ) throws -> Readiness {
        let key = try ServiceAccountKey(generatingFor: "driver@acme", projectID: "acme")
        let minter = TokenMinter(signer: try LocalSigner(key))
        return Readiness(
            issuer: TokenIssuer(minters: signs ? [.driver: minter] : [:]), roles: [.driver], store: world.store,
            metrics: metrics, now: { clocks.wall.withLock { $0 } }, uptime: { clocks.uptime.withLock { $0 } },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    @Test func `a server that can sign, store and tell the time is ready`() async throws {
        let (world, clocks, metrics) = (try TemporaryStore(), Clocks(), TokenServerMetrics())
        let readiness = try self.readiness(world, clocks, metrics: metrics)
        #expect(await readiness.check())
        clocks.pass(100_000)
        #expect(await readiness.check())
        #expect(metrics.text.contains(#"fleetpass_canary_up{role="driver"} 1"#))
        #expect(metrics.text.contains(#"fleetpass_ready{check="store"} 1"#))
    }

    @Test func `a server that has not looked yet is not ready`() throws {
        #expect(try self.readiness(TemporaryStore(), Clocks()).problems.keys.map(\.self) == [.canary])
    }

    @Test func `a role without a signer makes it unready`() async throws {
        let metrics = TokenServerMetrics()
        let readiness = try self.readiness(try TemporaryStore(), Clocks(), signs: false, metrics: metrics)
        #expect(await !readiness.check())
        #expect(readiness.problems[.canary]?.hasPrefix("no trial token for driver: No signer is set up") == true)
        #expect(metrics.text.contains(#"fleetpass_canary_up{role="driver"} 0"#))
    }

    @Test(arguments: [-61.0, 61])
    func `a clock that was set makes it unready until it is right again`(step: Double) async throws {
        let (world, clocks) = (try TemporaryStore(), Clocks())
        let readiness = try self.readiness(world, clocks)
        clocks.set(by: step)
        #expect(await !readiness.check())
        #expect(readiness.problems.keys.map(\.self) == [.clock])
        clocks.set(by: -step)
        #expect(await readiness.check())
    }

    @Test func `a clock that is behind the last record makes it unready`() async throws {
        let (world, clocks) = (try TemporaryStore(), Clocks())
        let log = StoredAuditLog(store: world.store, logger: Logger(label: "test"))
        try await log.append(.granted(.server, at: Self.start.timeIntervalSince1970 + 120))
        let readiness = try self.readiness(world, clocks)
        #expect(await !readiness.check())
        clocks.pass(61)
        #expect(await readiness.check())
    }

    @Test func `a store that is gone makes it unready`() async throws {
        let (world, clocks) = (try TemporaryStore(), Clocks())
        let readiness = try self.readiness(world, clocks)
        #expect(await readiness.check())
        try world.store.close()
        #expect(await !readiness.check())
        #expect(readiness.problems[.store] != nil)
    }
}
