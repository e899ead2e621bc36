// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

/// Lives through days with tunnels, outages, sleep, refusals and changes of vehicle.
@Suite(.timeLimit(.minutes(60))) struct DriversDayTests {
    #if DEBUG
        private static let realDays: UInt64 = 4
    #else
        private static let realDays: UInt64 = 24
    #endif

    private static func subjects() throws -> [TokenSubject] {
        try (1...DriversDay.vehicles).map { .driver(try VehicleID(checking: "veh-\($0)")) }
    }

    @Test(arguments: 0..<UInt64(10)) func `no report waits for a token in a thousand days`(batch: UInt64) async throws {
        let subjects = try Self.subjects()
        var (reports, starved) = (0, 0)
        for index in 0..<UInt64(100) {
            var machine = MachineDay(DriversDay(seed: batch * 100 + index), subjects: subjects)
            machine.run()
            await Task.yield()
            #expect(machine.observer.violations.isEmpty, "\(machine.observer.violations.joined(separator: "\n"))")
            reports += machine.observer.figures.reports
            starved += machine.observer.figures.starved
        }
        // Days in which little happens prove little.
        #expect(reports > 500_000 && starved > 10_000, "\(reports) \(starved)")
    }

    @Test func `passing over reports on a fresh token changes nothing`() throws {
        let day = DriversDay(seed: 7)
        var short = MachineDay(day, subjects: try Self.subjects())
        short.run()
        var long = MachineDay(day, subjects: try Self.subjects(), skips: false)
        long.run()
        #expect(short.observer.figures == long.observer.figures)
        print("A day of seed \(day.seed) in figures:\n\(long.observer.figures)")
    }

    @Test(arguments: 0..<Self.realDays) func `the real provider and reporters live through a day`(
        seed: UInt64
    ) async throws {
        let ids = try (1...DriversDay.vehicles).map { try VehicleID(checking: "veh-\($0)") }
        var real = try RealDay(
            DriversDay(seed: seed), ids: ids, provider: ProviderID(checking: "demo-fleet"),
            server: #require(URL(string: "https://fleet.example")))
        try await real.run()
        #expect(real.observer.violations.isEmpty, "\(real.observer.violations.joined(separator: "\n"))")
    }
}
