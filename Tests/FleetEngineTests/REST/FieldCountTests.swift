// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct FieldCountTests {
    /// How many fields are counted in a message.
    private func count(_ bytes: [UInt8]) -> Int? {
        (0...64).first { !FieldCount.exceeds($0, inMessage: bytes) }
    }

    @Test(
        arguments: [
            ([], 0), ([0x0A, 0], 1), ([0x0A, 0, 0x0A, 0, 0x0A, 0], 3),
            // Numbers of one and of two bytes, of eight and of four.
            ([0x08, 1, 0x08, 0x80, 1], 2), ([0x09, 1, 2, 3, 4, 5, 6, 7, 8, 0x0D, 1, 2, 3, 4], 2),
            // A message in a message, and a group.
            ([0x12, 4, 0x0A, 0, 0x0A, 0], 3), ([0x0B, 0x0A, 0, 0x0C], 3),
            // A text, though x may begin a number, and one with a line break.
            ([0x0A, 4] + Array("xxxx".utf8), 1), ([0x0A, 4] + Array("xx\nx".utf8), 3),
            // What is read before the end is found to be missing counts; what cannot be read ends it.
            ([0x0A, 0, 0x0A, 9], 2), ([0x0A, 0, 0x0F, 0x0A, 0], 2), ([0x0A, 0, 0, 0], 1), ([0x80], 0),
            ([0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1], 1),
            ([UInt8](repeating: 0xFF, count: 11), 0), ([0x09, 1], 1),
        ] as [([UInt8], Int)])
    func `the fields of a message are counted, those of messages in it too`(bytes: [UInt8], count: Int) {
        #expect(self.count(bytes) == count)
    }

    @Test func `a request of the API counts as what it has`() throws {
        let request = UpdateVehicle.Request.with {
            $0.name = "providers/acme/vehicles/veh-1"
            $0.vehicle.vehicleState = .online
            $0.vehicle.lastLocation.location.latitude = 37
            $0.updateMask.paths = ["vehicle_state", "last_location"]
        }
        // name; vehicle, its state, its location, the point, the latitude; the mask and its paths. Texts hardly count.
        let count = try #require(self.count(try request.serializedBytes()))
        #expect((9...16).contains(count))
    }

    @Test(
        arguments: [
            ("", 0), ("1", 0), ("{}", 1), (#"{"a":[{},{}],"b":1}"#, 6), (#"{"a":"{[,\"{[,"}"#, 1), (#"["\\",1]"#, 2),
        ])
    func `the values of JSON are counted, and texts not looked into`(json: String, count: Int) {
        let bytes = Array(json.utf8)
        #expect((0...64).first { !FieldCount.exceeds($0, inJSON: bytes) } == count)
    }
}
