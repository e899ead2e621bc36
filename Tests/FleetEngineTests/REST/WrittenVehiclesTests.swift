// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Foundation
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct WrittenVehiclesTests {
    static let vehicle = Vehicle.with {
        $0.name = "providers/p/vehicles/v"
        $0.vehicleState = .online
        $0.vehicleType.category = .auto
        $0.lastLocation.location.latitude = 48.1
        $0.lastLocation.location.longitude = 11.5
        $0.waypoints = [
            .with {
                $0.tripID = "one"
                $0.waypointType = .pickupWaypointType
                $0.location.point.latitude = 48.2
                $0.location.point.longitude = 11.6
            },
            // One that says nothing of itself.
            TripWaypoint(),
            .with {
                $0.tripID = "two"
                $0.pathToWaypoint = [.with { $0.latitude = 48.3 }]
                $0.eta.seconds = 7
                $0.distanceMeters = 8
                $0.duration.seconds = 9
            },
        ]
    }

    private static func shown(
        _ vehicle: Vehicle, after former: Vehicle? = nil, at seconds: TimeInterval = 1_800_000_000
    ) -> ShownVehicle {
        let context = CallContext(
            now: Date(timeIntervalSince1970: seconds), routes: StraightLineEstimator(), seesEveryVehicle: false)
        return VehicleView.show(vehicle, after: former, context: context)
    }

    @Test func `a vehicle is written as the library writes it, wherever it is and after each change`() throws {
        let written = WrittenVehicles()
        var moved = Self.vehicle
        moved.lastLocation.location.latitude = 48.15
        var reported = moved
        reported.etaToFirstWaypoint.seconds = 1_800_000_600
        reported.remainingDistanceMeters.value = 0
        var lost = moved
        lost.clearLastLocation()
        var resting = moved
        resting.vehicleState = .offline
        resting.attributes = [.with { $0.key = "\u{E9}" }]
        // The same text as far as Swift compares it.
        var respelled = resting
        respelled.attributes[0].key = "e\u{301}"
        var fewer = moved
        fewer.waypoints.removeFirst()
        var another = fewer
        another.waypoints[0].tripID = "three"
        var free = another
        free.waypoints = []
        let states = [Self.vehicle, moved, reported, lost, resting, respelled, fewer, another, free, moved]
        for hasEnumNumbers in [false, true, true, false] {
            for vehicle in states {
                for second in [1_800_000_000, 1_800_000_004.5] {
                    let shown = Self.shown(vehicle, at: second)
                    let json = try written.json(shown, withEnumNumbers: hasEnumNumbers)
                    let plain = try MessageJSON.write(shown.whole, withEnumNumbers: hasEnumNumbers)
                    #expect(try JSONValue(parsing: json) == JSONValue(parsing: plain))
                    // Texts are compared by their bytes.
                    let read = try Vehicle(jsonUTF8Bytes: json)
                    #expect(try read.serializedBytes() as [UInt8] == shown.whole.serializedBytes())
                }
            }
        }
        #expect(written.count == 1)
    }

    /// A change of each field that a report leaves as it is.
    static let changes: [@Sendable (inout Vehicle) -> Void] = [
        { $0.vehicleState = .offline },
        { $0.supportedTripTypes = [.shared] },
        { $0.currentTrips = ["one"] },
        { $0.maximumCapacity = 4 },
        { $0.attributes = [.with { $0.key = "seats" }] },
        { $0.vehicleType.category = .taxi },
        { $0.licensePlate.countryCode = "DE" },
        { $0.route = [.with { $0.point.latitude = 1 }] },
        { $0.currentRouteSegmentVersion.seconds = 1 },
        { $0.waypointsVersion.seconds = 1 },
        { $0.currentRouteSegment = "yokcFvpahV" },
        { $0.waypoints[0].tripID = "other" },
        { $0.backToBackEnabled = true },
        { $0.currentRouteSegmentEndPoint.tripID = "one" },
        { $0.remainingTimeSeconds.value = 1 },
        { $0.navigationStatus = .arrivedAtDestination },
        { $0.deviceSettings.isPowerSaveMode = true },
        { $0.currentRouteSegmentTraffic.trafficRendering.roadStretch = [.with { $0.lengthMeters = 1 }] },
        { $0.pastLocations = [.with { $0.location.latitude = 48 }] },
    ]

    @Test(arguments: changes.indices) func `a vehicle that is where it was is written anew after a change`(
        index: Int
    ) throws {
        let written = WrittenVehicles()
        var changed = Self.vehicle
        Self.changes[index](&changed)
        #expect(changed != Self.vehicle)
        for vehicle in [Self.vehicle, changed] {
            let shown = Self.shown(vehicle)
            #expect(try Vehicle(jsonUTF8Bytes: written.json(shown, withEnumNumbers: false)) == shown.whole)
        }
    }

    @Test func `a report is written with what was written of the vehicle before it, and of no other`() throws {
        let written = WrittenVehicles()
        func check(_ vehicle: Vehicle, after former: Vehicle?) throws {
            let shown = Self.shown(vehicle, after: former)
            #expect(try Vehicle(jsonUTF8Bytes: written.json(shown, withEnumNumbers: false)) == shown.whole)
        }
        try check(Self.vehicle, after: nil)
        var reported = Self.vehicle
        reported.lastLocation.location.latitude = 48.15
        try check(reported, after: Self.vehicle)
        // Of an update that came in between, the answer is not written yet.
        var resting = reported
        resting.maximumCapacity = 4
        var reportedLater = resting
        reportedLater.lastLocation.location.latitude = 48.16
        try check(reportedLater, after: resting)
        try check(resting, after: nil)
    }

    @Test func `the whole vehicle has the ways to its stops as far as they are known`() {
        let whole = Self.shown(Self.vehicle).whole
        #expect(whole.waypoints.map(\.tripID) == ["one", "", "two"])
        #expect(whole.waypoints.allSatisfy { $0.hasEta && $0.hasDuration && $0.hasDistanceMeters })
        #expect(whole.etaToFirstWaypoint == whole.waypoints[0].eta)
        #expect(whole.remainingDistanceMeters == whole.waypoints[0].distanceMeters)

        var lost = Self.vehicle
        lost.clearLastLocation()
        let unknown = Self.shown(lost).whole
        #expect(unknown.waypoints == Self.vehicle.waypoints)
        #expect(!unknown.hasEtaToFirstWaypoint && !unknown.hasRemainingDistanceMeters)
    }

    @Test func `no more vehicles are remembered than have their place`() throws {
        let written = WrittenVehicles()
        func write(_ name: String, _ stops: [TripWaypoint]) throws {
            var vehicle = Self.vehicle
            vehicle.name = name
            vehicle.waypoints = stops
            let shown = Self.shown(vehicle)
            #expect(try Vehicle(jsonUTF8Bytes: written.json(shown, withEnumNumbers: false)) == shown.whole)
        }
        for number in 0..<WrittenVehicles.capacity + 10 {
            try write("providers/p/vehicles/\(number)", [TripWaypoint()])
        }
        #expect(written.count == 10)
        var far = TripWaypoint()
        far.pathToWaypoint = Array(repeating: .with { $0.latitude = 48.137154 }, count: 1000)
        for _ in 0..<2 { try write("providers/p/vehicles/far", [far]) }
        #expect(written.count == 10)
    }
}
