// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct LastingBytesTests {
    private static let vehicle = WrittenVehiclesTests.vehicle

    /// What reports change, alone and together.
    private static let reports: [@Sendable (inout Vehicle) -> Void] = [
        { _ in },
        { $0.lastLocation.location.latitude = -12.25 },
        { $0.clearLastLocation() },
        // Longer than one byte of length tells.
        { $0.lastLocation = padded($0.lastLocation) },
        { $0.remainingDistanceMeters = 70_000 },
        { $0.remainingDistanceMeters = 0 },
        { $0.etaToFirstWaypoint.seconds = 1_800_000_000 },
        { $0.etaToFirstWaypoint = Google_Protobuf_Timestamp() },
        { vehicle in
            vehicle.etaToFirstWaypoint.nanos = 1
            vehicle.remainingDistanceMeters = 3
            vehicle.lastLocation.heading = 90
        },
    ]

    private static func padded(_ location: VehicleLocation) -> VehicleLocation {
        var padded = location
        for point in [\VehicleLocation.flpLocation, \.supplementalLocation, \.location] {
            padded[keyPath: point].latitude = 1.5
            padded[keyPath: point].longitude = 2.5
        }
        for accuracy in [\VehicleLocation.latlngAccuracy, \.speedAccuracy, \.headingAccuracy, \.altitudeAccuracy] {
            padded[keyPath: accuracy] = 4.5
        }
        padded.updateTime = Google_Protobuf_Timestamp(seconds: 1_800_000_000, nanos: 123_456_789)
        return padded
    }

    @Test func `a report is written after what stays, and read as the whole vehicle`() throws {
        var known = LastingBytes(Self.vehicle)
        for report in Self.reports {
            var vehicle = Self.vehicle
            report(&vehicle)
            let bytes = try #require(try known.serialized(vehicle))
            #expect(try Vehicle(serializedBytes: bytes) == vehicle)
            let whole: Data = try vehicle.serializedBytes()
            #expect(bytes.count == whole.count)
        }
    }

    @Test(arguments: WrittenVehiclesTests.changes.indices) func `what else is changed is not written with it`(
        index: Int
    ) throws {
        var known = LastingBytes(Self.vehicle)
        var changed = Self.vehicle
        WrittenVehiclesTests.changes[index](&changed)
        #expect(try known.serialized(changed) == nil)
        // In whichever of the two it is.
        known = LastingBytes(changed)
        #expect(try known.serialized(Self.vehicle) == nil)
    }

    @Test func `texts are told apart by their bytes, and unknown fields are not lost`() throws {
        var vehicle = Self.vehicle
        vehicle.currentRouteSegment = "\u{E9}"
        var known = LastingBytes(vehicle)
        vehicle.currentRouteSegment = "e\u{301}"
        #expect(try known.serialized(vehicle) == nil)
        let unknown = try Vehicle(serializedBytes: Self.vehicle.serializedBytes() + [0x98, 0x3f, 7] as [UInt8])
        known = LastingBytes(Self.vehicle)
        #expect(try known.serialized(unknown) == nil)
        known = LastingBytes(unknown)
        let bytes = try #require(try known.serialized(unknown))
        #expect(try Vehicle(serializedBytes: bytes) == unknown)
    }
}
