// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTokenClient
import FleetTokens
import Foundation

/// What a simulated fleet did, counted while it drives.
final class FleetMeter: Sendable {
    /// The counts so far.
    struct Counts: Sendable {
        var taken = 0
        var refused = 0
        var lost = 0
        var withoutToken = 0
        /// Why the first update that failed did.
        var firstFailure: EngineFailure?
        var tokensFetched = 0
        var tokensFailed = 0
        var tripsCreated = 0
        var tripsCompleted = 0
        var tripsFailed = 0
        /// How many the end of the time called off.
        var tripsCutShort = 0
        /// Whether the time is over, so that what is under way is called off.
        var isOver = false
        var updateLatencies = LatencyHistogram()
        var tokenLatencies = LatencyHistogram()
    }

    private let state = Locked(Counts())

    var counts: Counts { self.state.withLock { $0 } }

    /// Changes the counts.
    func count(_ change: (inout Counts) -> Void) {
        self.state.withLock { change(&$0) }
    }

    func count(_ update: VehicleUpdateEvent) {
        self.count { counts in
            switch update.failure?.stage {
            case nil: counts.taken += 1
            case .engine: counts.refused += 1
            case .connection: counts.lost += 1
            case .token: counts.withoutToken += 1
            }
            if counts.firstFailure == nil { counts.firstFailure = update.failure }
        }
    }
}

/// A transport that measures how long updates and tokens take.
struct MeteredTransport: HTTPTransport {
    let transport: any HTTPTransport
    let meter: FleetMeter

    func send(_ request: HTTPTransportRequest) async throws -> HTTPTransportResponse {
        let isForToken = request.url.path.contains("/token/")
        let start = ContinuousClock.now
        let answer: HTTPTransportResponse
        do {
            answer = try await self.transport.send(request)
        } catch {
            // What a provider calls off as its time is over has failed; what the end of the drive calls off has not.
            if isForToken {
                self.meter.count { counts in
                    if !(counts.isOver && error is CancellationError) { counts.tokensFailed += 1 }
                }
            }
            throw error
        }
        let took = ContinuousClock.now - start
        if isForToken {
            self.meter.count { counts in
                counts.tokenLatencies.add(took)
                if answer.status == 200 { counts.tokensFetched += 1 } else { counts.tokensFailed += 1 }
            }
        } else if request.method == "PUT", request.url.path.contains("/vehicles/") {
            self.meter.count { $0.updateLatencies.add(took) }
        }
        return answer
    }
}
