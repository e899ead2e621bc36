// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetTokens
import Foundation
import Testing

@testable import fleetpass

@Suite struct SimulateTests {
    @Test(arguments: [
        ["--vehicles", "0"], ["--vehicles", "1001"], ["--vehicles", "10", "--max-rate", "1.9"], ["--trips", "5"],
        ["--trips", "-1"], ["--interval", "4"], ["--speed", "0"], ["--speed", "0.0009"], ["--speed", "1001"],
        ["--speed", "1e12"], ["--speed", "nan"], ["--for", "0s"], ["--for", "60"], ["--for", "25h"], ["--for", "s"],
        ["--for", "-5s"], ["--trips", "1e-300", "--create-with", "k"], ["--trips", "0.0009", "--create-with", "k"],
        ["--trips", "6001", "--create-with", "k"], ["--trips", "nan", "--create-with", "k"],
    ])
    func `a fleet is bounded in size, rate and time`(options: [String]) {
        #expect(throws: (any Error).self) { try SimulateCommand.parse(options) }
    }

    @Test(arguments: [0, 0.001, 6_000])
    func `trips are none, or one in 1000 minutes to a hundred a second`(rate: Double) throws {
        #expect(try SimulateCommand.parse(["--trips", "\(rate)", "--create-with", "k"]).trips == rate)
    }

    @Test(arguments: [("60s", 60), ("10m", 600), ("24h", 86_400)])
    func `a time is a number with a unit`(text: String, seconds: Int) throws {
        #expect(try SimulateCommand.parse(["--for", text]).time.duration == .seconds(seconds))
    }

    @Test func `a thousand vehicles every five seconds are within the usual rate`() throws {
        #expect(try SimulateCommand.parse(["--vehicles", "1000"]).vehicles == 1000)
    }

    @Test func `the bundled drives can be read, and one of them is a delivery round`() throws {
        #expect(try BundledRoutes.all().count == 3)
        #expect(BundledRoutes.files.map(\.name).count { $0.hasPrefix("delivery") } == 1)
    }

    @Test func `percentiles are right to two per cent`() throws {
        var histogram = LatencyHistogram()
        #expect(histogram.percentile(0.5) == nil)
        for millisecond in 1...1000 { histogram.add(.milliseconds(millisecond)) }
        for (share, wanted) in [(0.5, 0.5), (0.99, 0.99), (0.001, 0.001), (1, 1)] {
            let found = try #require(histogram.percentile(share)) / .seconds(1)
            #expect(found >= wanted && found <= wanted * 1.021, "\(share): \(found)")
        }
    }

    @Test(arguments: [Duration.zero, .nanoseconds(1), .seconds(1_000_000)])
    func `no duration is too short or too long to count`(duration: Duration) {
        var histogram = LatencyHistogram()
        histogram.add(duration)
        #expect(histogram.count == 1 && histogram.percentile(0.5) != nil)
    }

    @Test func `the summary says what became of updates, tokens and trips`() {
        let meter = FleetMeter()
        meter.count { counts in
            counts.taken = 120
            counts.refused = 1
            counts.lost = 2
            counts.tokensFetched = 10
            counts.tripsCreated = 3
            counts.tripsCompleted = 2
            counts.tripsCutShort = 1
        }
        #expect(
            SimulationSummary(meter.counts, vehicles: 10, time: .seconds(60)).text == """
                vehicles  10 for 60.0 s
                updates   120 taken (2.0/s), 1 refused, 2 lost, 0 without a token
                tokens    10 fetched, 0 failed
                trips     3 created, 2 completed, 0 failed, 1 cut short
                """)
    }
}
