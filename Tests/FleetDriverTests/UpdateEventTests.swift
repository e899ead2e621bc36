// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTokenClient
import FleetTokens
import Testing

/// An app's own tests and previews make what its code hears from the reporters.
struct UpdateEventTests {
    private let failure = EngineFailure(stage: .connection, code: .unavailable, message: "No route.")

    @Test func `an app can make a vehicle's event`() throws {
        let fix = try LocationFix.at(7)
        let event = VehicleUpdateEvent(
            outcome: .failed(self.failure), state: .online, location: fix, pastLocationCount: 1, unsentCount: 2,
            droppedCount: 3, tokenWait: .seconds(4))
        #expect(event.failure?.code == .unavailable && event.state == .online)
        #expect(event.location == fix && event.pastLocationCount == 1)
        #expect(event.unsentCount == 2 && event.droppedCount == 3 && event.tokenWait == .seconds(4))
        let plain = VehicleUpdateEvent(outcome: .succeeded, state: .offline)
        #expect(plain.failure == nil && plain.location == nil && plain.tokenWait == .zero)
    }

    @Test func `an app can make a delivery vehicle's event`() throws {
        let task = try TaskID(checking: "a")
        let event = DeliveryVehicleUpdateEvent(
            content: .taskOutcome(.succeeded, of: task), outcome: .failed(self.failure), unsentCount: 1,
            pendingCount: 2, droppedCount: 3, tokenWait: .seconds(4))
        guard case .taskOutcome(.succeeded, task) = event.content else {
            Issue.record("The event is about something else: \(event)")
            return
        }
        #expect(event.failure?.code == .unavailable && event.unsentCount == 1 && event.pendingCount == 2)
        #expect(event.droppedCount == 3 && event.tokenWait == .seconds(4))
        #expect(DeliveryVehicleUpdateEvent(content: .stops([]), outcome: .succeeded).pendingCount == 0)
    }

    @Test func `an app can make what the SDK's shapes hand to it`() throws {
        let fix = try LocationFix.at(7)
        let update = GMTDVehicleUpdate(vehicleState: .online, location: fix)
        #expect(update.vehicleState == .online && update.location == fix)
        let stop = GMTDVehicleStop(taskInfoArray: [], plannedWaypoint: nil, state: .new)
        let vehicle = GMTDDeliveryVehicle(providerID: "acme", vehicleID: "van-1", vehicleStops: [stop])
        #expect(vehicle.providerID == "acme" && vehicle.vehicleID == "van-1" && vehicle.vehicleStops == [stop])
        #expect(vehicle.vehicleName == "providers/acme/deliveryVehicles/van-1")
    }
}
