// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import SwiftProtobuf
import Testing

@testable import FleetEngine

/// Replays what the real service was asked, and compares what it answered; docs/recordings.md gives the reasons.
@Suite struct RecordingTests {
    private static let name = "two-trips-bay-area.json"
    private static let provider = "geod-support-gems"

    /// The differences that are understood, by kind, from the table in docs/recordings.md.
    private static func understood() throws -> [String: Int] {
        let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../docs/recordings.md")
        let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n").compactMap {
            row -> (String, Int)? in
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 5, let count = Int(cells[3]) else { return nil }
            return ("\(cells[0]): \(cells[1]) \(cells[2].trimmingCharacters(in: ["`"]))", count)
        }
        return Dictionary(rows) { first, _ in first }
    }

    @Test(.enabled(if: RecordedExchange.exists(name), "The recordings are not at hand."))
    func `a recorded day with two trips is accepted, and answered alike but for known differences`() async throws {
        let exchanges = try RecordedExchange.read(Self.name)
        #expect(exchanges.count == 542)
        let clock = TestClock(TestClock.start)
        let engine = Engine(
            store: MemoryStore(), verifier: TextVerifier(provider: Self.provider), now: { clock.now })
        try await Self.presume(exchanges, engine, clock)

        var differences = ResponseDifferences()
        for exchange in exchanges {
            clock.set(exchange.time)
            do {
                try await Self.replay(exchange, engine, &differences)
                #expect(!exchange.isRefused)
            } catch let error as EngineError {
                #expect(exchange.isRefused, "\(exchange.kind) at \(exchange.time): \(error)")
            }
        }
        let understood = try Self.understood()
        for kind in Set(differences.counts.keys).union(understood.keys).sorted() {
            #expect(differences.counts[kind] == understood[kind], "\(kind)")
        }
    }

    /// Creates the vehicle as it must have been when the recording began.
    private static func presume(_ exchanges: [RecordedExchange], _ engine: Engine, _ clock: TestClock) async throws {
        let vehicle = try #require(exchanges.first { $0.kind == "UpdateVehicleLog" })
        let trip = try #require(exchanges.first { $0.kind == "UpdateTripLog" })
        var presumed = try RecordedExchange.message(vehicle.response, as: Vehicle.self)
        presumed.lastLocation = try RecordedExchange.message(trip.response, as: Trip.self).lastLocation
        clock.set(presumed.lastLocation.serverTime.date)
        _ = try await engine.perform(
            CreateVehicle.self,
            .with {
                $0.parent = "providers/\(Self.provider)"
                $0.vehicleID = vehicle.request["vehicleId"] as? String ?? ""
                $0.vehicle = presumed
            },
            token: serverToken
        )
    }

    private static func replay(
        _ exchange: RecordedExchange, _ engine: Engine, _ differences: inout ResponseDifferences
    ) async throws {
        let parent = "providers/\(Self.provider)"
        let request = exchange.request
        let mask = (request["updateMask"] as? String ?? "").split(separator: ",").map(String.init)
        let tripID = request["tripId"] as? String ?? ""
        let vehicleID = request["vehicleId"] as? String ?? ""
        switch exchange.kind {
        case "CreateTripLog":
            let call = try CreateTrip.Request.with {
                $0.parent = parent
                $0.tripID = tripID
                $0.trip = try RecordedExchange.message(request["trip"], as: Trip.self)
            }
            let ours = try await engine.perform(CreateTrip.self, call, token: serverToken)
            let recorded = try RecordedExchange.message(exchange.response, as: Trip.self)
            try differences.compare(recorded, with: ours, in: "CreateTrip")
        case "UpdateTripLog":
            let call = try UpdateTrip.Request.with {
                $0.name = "\(parent)/trips/\(tripID)"
                $0.trip = try RecordedExchange.message(request["trip"], as: Trip.self)
                $0.updateMask.paths = mask
            }
            let ours = try await engine.perform(UpdateTrip.self, call, token: serverToken)
            let recorded = try RecordedExchange.message(exchange.response, as: Trip.self)
            try differences.compare(recorded, with: ours, in: "UpdateTrip")
        case "UpdateVehicleLog":
            let call = try UpdateVehicle.Request.with {
                $0.name = "\(parent)/vehicles/\(vehicleID)"
                $0.vehicle = try RecordedExchange.message(request["vehicle"], as: Vehicle.self)
                $0.updateMask.paths = mask
            }
            // The driver's own token must be enough for all that the driver SDK sends.
            let ours = try await engine.perform(UpdateVehicle.self, call, token: "driver|vehicleid=\(vehicleID)")
            let recorded = try RecordedExchange.message(exchange.response, as: Vehicle.self)
            try differences.compare(recorded, with: ours, in: "UpdateVehicle")
        default:
            Issue.record("The recording holds a \(exchange.kind), which is not replayed.")
        }
    }
}
