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
        var lasting = LastingBytes()
        for report in Self.reports {
            var vehicle = Self.vehicle
            report(&vehicle)
            #expect(vehicle.differsByReportOnly(from: Self.vehicle))
            let bytes = try lasting.serialized(vehicle)
            #expect(try Vehicle(serializedBytes: bytes) == vehicle)
            let whole: Data = try vehicle.serializedBytes()
            #expect(bytes.count == whole.count)
        }
    }

    @Test(arguments: WrittenVehiclesTests.changes.indices) func `whatever else is changed makes more than a report`(
        index: Int
    ) throws {
        var changed = Self.vehicle
        WrittenVehiclesTests.changes[index](&changed)
        #expect(!changed.differsByReportOnly(from: Self.vehicle))
        // In whichever of the two it is.
        #expect(!Self.vehicle.differsByReportOnly(from: changed))
    }

    @Test func `texts are told apart by their bytes, and unknown fields are not lost`() throws {
        var vehicle = Self.vehicle
        vehicle.currentRouteSegment = "\u{E9}"
        var other = vehicle
        other.currentRouteSegment = "e\u{301}"
        #expect(other == vehicle)
        #expect(!other.differsByReportOnly(from: vehicle))
        let unknown = try Vehicle(serializedBytes: Self.vehicle.serializedBytes() + [0x98, 0x3f, 7] as [UInt8])
        #expect(!unknown.differsByReportOnly(from: Self.vehicle))
        var lasting = LastingBytes()
        #expect(try Vehicle(serializedBytes: lasting.serialized(unknown)) == unknown)
    }

    /// A change that makes more than a report of what follows before the tables hold it.
    @Test func `a report after another change of the same group is written whole`() throws {
        let report = StoreChange.report(Self.vehicle, updated: 7)
        func isReport(_ change: StoreChange) -> Bool { if case .report = change { true } else { false } }
        #expect(isReport(report.following(nil)))
        #expect(isReport(report.following(report)))
        for former in [StoreChange.put(Self.vehicle, updated: 3), .removed] {
            #expect(!isReport(report.following(former)))
            #expect(report.following(former).put?.updated == 7)
            #expect(!isReport(former.following(report)))
        }
    }
}
