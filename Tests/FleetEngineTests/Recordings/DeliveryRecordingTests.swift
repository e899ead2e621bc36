// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Foundation
import SwiftProtobuf
import Testing

@testable import FleetEngine

/// Replays a recorded day of one delivery vehicle, and compares the answers; docs/recordings.md gives the reasons.
@Suite struct DeliveryRecordingTests {
    private static let name = "lmfs.json"
    private static let provider = "lmfs-field-day"

    @Test(.enabled(if: RecordedExchange.exists(name), "The recordings are not at hand."))
    func `a recorded day of deliveries is accepted, and answered alike but for known differences`() async throws {
        let exchanges = try RecordedExchange.read(Self.name)
        #expect(exchanges.count == 669)
        let clock = TestClock(TestClock.start)
        let engine = Engine(
            store: MemoryStore(), verifier: TextVerifier(provider: Self.provider), now: { clock.now })
        var differences = ResponseDifferences(tolerance: .seconds(1))
        var isFirst = true
        for exchange in exchanges {
            clock.set(exchange.time)
            #expect(!exchange.call.isRefused)
            if isFirst, exchange.call.method == .updateDeliveryVehicle {
                isFirst = false
                try await Self.presume(exchange, engine)
            }
            try await Self.replay(exchange, engine, &differences)
        }
        let counts = Dictionary(
            uniqueKeysWithValues: differences.counts.map { ("\($0.call): \($0.difference) \($0.field)", $1) })
        let understood = try RecordedExchange.understood(in: "Deliveries")
        for kind in Set(counts.keys).union(understood.keys).sorted() {
            #expect(counts[kind] == understood[kind], "\(kind)")
        }
    }

    /// Gives the vehicle the stops and the route that it must have had when the recording began.
    private static func presume(_ exchange: RecordedExchange, _ engine: Engine) async throws {
        let vehicle: DeliveryVehicle = try exchange.response()
        _ = try await engine.perform(
            CreateDeliveryVehicle.self,
            .with {
                $0.parent = "providers/\(Self.provider)"
                $0.deliveryVehicleID = exchange.call.resourceID ?? ""
            },
            token: deliveryToken)
        _ = try await engine.perform(
            UpdateDeliveryVehicle.self,
            .with {
                $0.deliveryVehicle = vehicle
                // The log does not tell where the route ends.
                $0.updateMask.paths = [
                    "remaining_vehicle_journey_segments", "current_route_segment", "current_route_segment_end_point",
                    "remaining_distance_meters",
                ]
            },
            token: deliveryToken)
    }

    private static func replay(
        _ exchange: RecordedExchange, _ engine: Engine, _ differences: inout ResponseDifferences
    ) async throws {
        let call = exchange.call
        switch call.method {
        case .createTask:
            let ours = try await engine.perform(CreateTask.self, exchange.request(), token: deliveryToken)
            try differences.compare(call.response, with: ours, in: call.name)
        case .updateTask:
            let ours = try await engine.perform(UpdateTask.self, exchange.request(), token: deliveryToken)
            try differences.compare(call.response, with: ours, in: call.name)
        case .updateDeliveryVehicle:
            // What the driver's app reports goes through with the least that a driver has.
            let isPlan = call.request["updateMask"]?.string == "remainingVehicleJourneySegments"
            let token =
                isPlan ? deliveryToken : "delivery_untrusted_driver|deliveryvehicleid=\(call.resourceID ?? "")"
            let ours = try await engine.perform(UpdateDeliveryVehicle.self, exchange.request(), token: token)
            try differences.compare(call.response, with: ours, in: call.name)
        default:
            Issue.record("The recording holds a \(call.name), which is not replayed.")
        }
    }
}
