// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import Foundation
import Testing

@Suite struct LocationFixTests {
    @Test(arguments: [(90.01, 0), (-91, 0), (0, 180.01), (0, -181), (Double.nan, 0), (0, .infinity)])
    func `a place off the Earth is refused`(latitude: Double, longitude: Double) throws {
        let error = try #require(throws: DriverError.self) {
            try LocationFix(latitude: latitude, longitude: longitude, time: Date())
        }
        #expect(error.code == .invalidLocation)
        #expect((error as any Error).localizedDescription == error.message)
    }

    @Test(arguments: [Double.nan, .infinity, 1e300, -62_135_596_801, 253_402_300_800])
    func `a time that cannot be written is refused`(seconds: Double) {
        #expect(throws: DriverError.self) {
            try LocationFix(latitude: 0, longitude: 0, time: Date(timeIntervalSince1970: seconds))
        }
    }

    @Test func `negative values mean unknown`() throws {
        let fix = try LocationFix(
            latitude: 90, longitude: -180, heading: -1, speed: -1, altitude: -12, accuracy: -1, time: Date())
        #expect(fix.heading == nil && fix.speed == nil && fix.accuracy == nil)
        #expect(fix.altitude == -12)
    }

    @Test func `zero is known, and what is no finite number is not`() throws {
        let fix = try LocationFix(
            latitude: 0, longitude: 0, heading: 0, speed: 0, altitude: 0, accuracy: 0, time: Date())
        #expect(fix.heading == 0 && fix.speed == 0 && fix.altitude == 0 && fix.accuracy == 0)
        for value in [Double.nan, .infinity, -.infinity] {
            let fix = try LocationFix(
                latitude: 0, longitude: 0, heading: value, speed: value, altitude: value, accuracy: value, time: Date())
            #expect(fix.heading == nil && fix.speed == nil && fix.altitude == nil && fix.accuracy == nil)
        }
    }

    @Test func `a full turn is north again`() throws {
        #expect(try LocationFix(latitude: 0, longitude: 0, heading: 361.5, time: Date()).heading == 1.5)
        #expect(try LocationFix(latitude: 0, longitude: 0, heading: .nan, time: Date()).heading == nil)
    }
}
