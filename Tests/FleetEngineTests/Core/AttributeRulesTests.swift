// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct AttributeRulesTests {
    @Test(arguments: [Double.nan, .infinity, -.infinity])
    func `a number that is not finite is refused wherever attributes are`(number: Double) async throws {
        let fixture = EngineFixture()
        let attribute = VehicleAttribute.with {
            $0.key = "load"
            $0.numberValue = number
        }
        #expect(
            await code { try await fixture.createVehicle("veh-1", .with(.sample) { $0.attributes = [attribute] }) }
                == .invalidArgument)
        try await fixture.createVehicle("veh-1")
        #expect(
            await code { try await fixture.updateVehicle("veh-1", ["attributes"]) { $0.attributes = [attribute] } }
                == .invalidArgument)
        let update = UpdateVehicleAttributes.Request.with {
            $0.name = "providers/acme/vehicles/veh-1"
            $0.attributes = [attribute]
        }
        #expect(
            await code {
                try await fixture.engine.perform(UpdateVehicleAttributes.self, update, token: serverToken)
            } == .invalidArgument)
        let ofTrip = TripAttribute.with {
            $0.key = "load"
            $0.numberValue = number
        }
        #expect(
            await code { try await fixture.createTrip("trip-1", .with(.sample) { $0.attributes = [ofTrip] }) }
                == .invalidArgument)
        let ofTask = TaskAttribute.with {
            $0.key = "load"
            $0.numberValue = number
        }
        #expect(throws: EngineError.self) { try AttributeRules.check([ofTask]) }
        let ofDelivery = DeliveryVehicleAttribute.with {
            $0.key = "load"
            $0.numberValue = number
        }
        #expect(throws: EngineError.self) { try AttributeRules.accept([ofDelivery]) }
    }

    @Test func `words for what is not a number are texts like others`() throws {
        let attribute = TripAttribute.with {
            $0.key = "load"
            $0.stringValue = "NaN"
        }
        try AttributeRules.check([attribute])
    }
}
