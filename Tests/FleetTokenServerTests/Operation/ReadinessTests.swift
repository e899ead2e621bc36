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
        metrics: TokenServerMetrics = TokenServerMetrics(),
        followed: [Readiness.Check: @Sendable () -> String?] = [:], log: LeakTests.Log = LeakTests.Log()
    ) throws -> Readiness {
        let key = try ServiceAccountKey(generatingFor: "driver@acme", projectID: "acme")
        let minter = TokenMinter(signer: try LocalSigner(key))
        return Readiness(
            issuer: TokenIssuer(minters: signs ? [.driver: minter] : [:]), roles: [.driver], store: world.store,
            metrics: metrics, followed: followed, now: { clocks.wall.withLock { $0 } },
            uptime: { clocks.uptime.withLock { $0 } },
            logger: Logger(label: "test") { _ in LeakTests.Handler(log: log) })
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

    @Test(arguments: [nil, "status 503"])
    func `what is followed is missed from the start, and told once it was tried`(found: String?) async throws {
        let (world, clocks, log) = (try TemporaryStore(), Clocks(), LeakTests.Log())
        let problem = Locked<String?>("nothing was fetched yet")
        let readiness = try self.readiness(
            world, clocks, followed: [.revocations: { problem.withLock { $0 } }], log: log)
        func errors() -> Int { log.contents.split(separator: "\n").count { $0.hasPrefix("error ") } }
        for _ in 0..<2 {
            #expect(await !readiness.check())
            #expect(readiness.problems.keys.map(\.self) == [.revocations])
        }
        #expect(errors() == 0)
        problem.withLock { $0 = found }
        #expect(await readiness.check() == (found == nil))
        #expect(errors() == (found == nil ? 0 : 1))
        problem.withLock { $0 = "status 500" }
        #expect(await !readiness.check())
        #expect(errors() == 1)
        problem.withLock { $0 = nil }
        #expect(await readiness.check())
    }

    @Test func `a look that is cancelled finds nothing out`() async throws {
        let log = LeakTests.Log()
        let readiness = try self.readiness(try TemporaryStore(), Clocks(), log: log)
        let look = Task {
            while !Task.isCancelled { await Task.yield() }
            return await readiness.check()
        }
        look.cancel()
        #expect(await !look.value)
        #expect(readiness.problems.keys.map(\.self) == [.canary])
        #expect(log.contents.isEmpty)
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
