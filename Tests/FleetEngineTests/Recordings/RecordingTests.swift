// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Foundation
import SwiftProtobuf
import Testing

@testable import FleetEngine

/// Replays what the real service was asked, and compares what it answered; docs/recordings.md gives the reasons.
@Suite struct RecordingTests {
    private static let name = "two-trips-bay-area.json"
    private static let provider = "geod-support-gems"

    @Test(.enabled(if: RecordedExchange.exists(name), "The recordings are not at hand."))
    func `a recorded day with two trips is accepted, and answered alike but for known differences`() async throws {
        let exchanges = try RecordedExchange.read(Self.name)
        #expect(exchanges.count == 542)
        let clock = TestClock(TestClock.start)
        let engine = Engine(
            store: MemoryStore(), verifier: TextVerifier(provider: Self.provider), now: { clock.now })
        try await Self.presume(exchanges, engine, clock)

        var differences = ResponseDifferences(tolerance: .seconds(1))
        for exchange in exchanges {
            clock.set(exchange.time)
            do {
                try await Self.replay(exchange, engine, &differences)
                #expect(!exchange.call.isRefused)
            } catch let error as EngineError {
                #expect(exchange.call.isRefused, "\(exchange.call.name) at \(exchange.time): \(error)")
            }
        }
        let counts = Dictionary(
            uniqueKeysWithValues: differences.counts.map { ("\($0.call): \($0.difference) \($0.field)", $1) })
        let understood = try RecordedExchange.understood(in: "On demand")
        for kind in Set(counts.keys).union(understood.keys).sorted() {
            #expect(counts[kind] == understood[kind], "\(kind)")
        }
    }

    /// Creates the vehicle as it must have been when the recording began.
    private static func presume(_ exchanges: [RecordedExchange], _ engine: Engine, _ clock: TestClock) async throws {
        let first = try #require(exchanges.first { $0.call.method == .updateVehicle })
        let trip = try #require(exchanges.first { $0.call.method == .updateTrip })
        var presumed: Vehicle = try first.response()
        presumed.lastLocation = try (trip.response() as Trip).lastLocation
        clock.set(presumed.lastLocation.serverTime.date)
        _ = try await engine.perform(
            CreateVehicle.self,
            .with {
                $0.parent = "providers/\(Self.provider)"
                $0.vehicleID = first.call.resourceID ?? ""
                $0.vehicle = presumed
            },
            token: serverToken
        )
    }

    private static func replay(
        _ exchange: RecordedExchange, _ engine: Engine, _ differences: inout ResponseDifferences
    ) async throws {
        switch exchange.call.method {
        case .createTrip:
            let ours = try await engine.perform(CreateTrip.self, exchange.request(), token: serverToken)
            try differences.compare(exchange.call.response, with: ours, in: exchange.call.name)
        case .updateTrip:
            let ours = try await engine.perform(UpdateTrip.self, exchange.request(), token: serverToken)
            try differences.compare(exchange.call.response, with: ours, in: exchange.call.name)
        case .updateVehicle:
            // The driver's own token must be enough for all that the driver SDK sends.
            let token = "driver|vehicleid=\(exchange.call.resourceID ?? "")"
            let ours = try await engine.perform(UpdateVehicle.self, exchange.request(), token: token)
            try differences.compare(exchange.call.response, with: ours, in: exchange.call.name)
        default:
            Issue.record("The recording holds a \(exchange.call.name), which is not replayed.")
        }
    }
}
