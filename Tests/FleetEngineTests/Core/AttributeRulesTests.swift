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

    @Test(arguments: [
        (0.5, "0.5"), (-0.0, "0"), (-3, "-3"), (999_999_999_999_999, "999999999999999"), (1e15, "1000000000000000"),
        (1_234_567_890_123_456, "1234567890123456"), (-0x1p53, "-9007199254740992"), (0x1p54, "18014398509481984"),
        (1e18, "1e+18"),
    ])
    func `a whole number is found by its digits`(number: Double, text: String) {
        #expect(AttributeRules.text(number) == text)
    }

    @Test func `words for what is not a number are texts like others`() throws {
        let attribute = TripAttribute.with {
            $0.key = "load"
            $0.stringValue = "NaN"
        }
        try AttributeRules.check([attribute])
    }
}
