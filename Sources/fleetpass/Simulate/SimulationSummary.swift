// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What `simulate` gives at its end.
struct SimulationSummary: Encodable {
    struct Updates: Encodable {
        let taken: Int
        let refused: Int
        let lost: Int
        let withoutToken: Int
        let perSecond: Double
        let p50Milliseconds: Double?
        let p99Milliseconds: Double?
    }
    struct Tokens: Encodable {
        let fetched: Int
        let failed: Int
        let p50Milliseconds: Double?
        let p99Milliseconds: Double?
    }
    struct Trips: Encodable {
        let created: Int
        let completed: Int
        let failed: Int
        let cutShort: Int
    }

    let seconds: Double
    let vehicles: Int
    let updates: Updates
    let tokens: Tokens
    let trips: Trips

    init(_ counts: FleetMeter.Counts, vehicles: Int, time: Duration) {
        func rounded(_ value: Double) -> Double { (value * 100).rounded() / 100 }
        func milliseconds(_ histogram: LatencyHistogram, _ share: Double) -> Double? {
            histogram.percentile(share).map { rounded($0 / .milliseconds(1)) }
        }
        self.seconds = rounded(time / .seconds(1))
        self.vehicles = vehicles
        self.updates = Updates(
            taken: counts.taken,
            refused: counts.refused,
            lost: counts.lost,
            withoutToken: counts.withoutToken,
            perSecond: rounded(Double(counts.taken) / max(time / .seconds(1), 0.001)),
            p50Milliseconds: milliseconds(counts.updateLatencies, 0.5),
            p99Milliseconds: milliseconds(counts.updateLatencies, 0.99)
        )
        self.tokens = Tokens(
            fetched: counts.tokensFetched,
            failed: counts.tokensFailed,
            p50Milliseconds: milliseconds(counts.tokenLatencies, 0.5),
            p99Milliseconds: milliseconds(counts.tokenLatencies, 0.99)
        )
        self.trips = Trips(
            created: counts.tripsCreated, completed: counts.tripsCompleted, failed: counts.tripsFailed,
            cutShort: counts.tripsCutShort)
    }

    var text: String {
        func latencies(_ p50: Double?, _ p99: Double?) -> String {
            guard let p50, let p99 else { return "" }
            return ", p50 \(p50) ms, p99 \(p99) ms"
        }
        let (updates, tokens, trips) = (self.updates, self.tokens, self.trips)
        return """
            vehicles  \(self.vehicles) for \(self.seconds) s
            updates   \(updates.taken) taken (\(updates.perSecond)/s), \(updates.refused) refused, \(updates.lost) lost, \
            \(updates.withoutToken) without a token\(latencies(updates.p50Milliseconds, updates.p99Milliseconds))
            tokens    \(tokens.fetched) fetched, \(tokens.failed) failed\
            \(latencies(tokens.p50Milliseconds, tokens.p99Milliseconds))
            trips     \(trips.created) created, \(trips.completed) completed, \(trips.failed) failed, \(trips.cutShort) cut short
            """
    }
}
