// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

/// Rounds with a network that loses requests and answers, and a dispatcher who adds stops meanwhile.
@Suite(.timeLimit(.minutes(10))) struct DeliveryRoundTests {
    @Test(arguments: 0..<UInt64(100)) func `nothing of a round is lost, doubled or undone`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let world = try DeliveryReporterWorld(stops: (1...4).map { "\($0) t\($0) NEW" })
        let reporter = world.reporter
        _ = try await reporter.readRemainingStops()
        world.engine.state.withLock { state in
            state.lossRate = Double.random(in: 0...0.7, using: &random)
            state.random = SeededGenerator(seed: seed + 1_000)
        }
        await reporter.startTracking()

        var (planned, done, seconds) = (4, 0, 0)
        for _ in 0..<60 {
            if random.chance(0.4) {
                seconds += 1
                await reporter.record(try .at(seconds))
                await reporter.reportNow()
            }
            if random.chance(0.1), planned < 8 {
                planned += 1
                let stop = "\(planned) t\(planned) NEW"
                world.engine.state.withLock { $0.stops.append(stop) }
            }
            guard let stop = await reporter.remainingStops?.first else { continue }
            do {
                switch stop.state {
                case .new: try await reporter.reportEnrouteToNextStop()
                case .enroute: try await reporter.reportArrivedAtStop()
                default:
                    // The driver goes on, whatever became of the reports.
                    done += 1
                    _ = try? await reporter.reportOutcome(.succeeded, of: stop.tasks[0])
                    try await reporter.reportCompletedStop()
                }
            } catch is EngineFailure {
            }
        }

        world.engine.state.withLock { $0.lossRate = 0 }
        await reporter.reportNow()
        await reporter.stopTracking()
        await reporter.startTracking()
        await reporter.stopTracking()
        let end = world.engine.state.withLock { $0 }
        let left = try await reporter.readRemainingStops().short
        #expect(end.stops == left)
        #expect(end.stops.map { $0.prefix(1) } == ((done + 1)..<(planned + 1)).map { "\($0)" })
        #expect(end.outcomes.keys.sorted() == (1..<(done + 1)).map { "t\($0)" })
        #expect(Set(end.latitudes).count == seconds)
        #expect(end.latitudes.last == (seconds > 0 ? try LocationFix.at(seconds).latitude : nil))
    }
}
