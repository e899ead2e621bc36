// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct WrittenTripsTests {
    private static let trip = Trip.with {
        $0.name = "providers/p/trips/t"
        $0.tripStatus = .enrouteToPickup
        $0.vehicleID = "v"
        $0.etaToFirstWaypoint.seconds = 1_800_000_000
    }

    private static func arriving(in seconds: Int64, _ trip: Trip = trip) -> Trip {
        var trip = trip
        trip.remainingTimeToFirstWaypoint.seconds = seconds
        return trip
    }

    @Test func `a trip is written as the library writes it, at each time and after each change`() throws {
        let written = WrittenTrips()
        var underway = Self.trip
        underway.tripStatus = .arrivedAtPickup
        let trips = [
            Self.trip, Self.arriving(in: 90), Self.arriving(in: 85), Self.arriving(in: 0), Self.trip,
            Self.arriving(in: 85, underway), underway, Self.trip,
        ]
        for hasEnumNumbers in [false, true, true, false] {
            for trip in trips {
                let json = try written.json(ShownTrip(trip), withEnumNumbers: hasEnumNumbers)
                let plain = try MessageJSON.write(trip, withEnumNumbers: hasEnumNumbers)
                #expect(try JSONValue(parsing: json) == JSONValue(parsing: plain))
            }
        }
        #expect(written.count == 1)
    }

    @Test func `a trip is written as the same text whether it is the same message or another that is equal`() throws {
        let written = WrittenTrips()
        let json = try written.json(ShownTrip(Self.trip), withEnumNumbers: false)
        let again = ShownTrip(try Trip(serializedBytes: Self.trip.serializedBytes() as [UInt8]))
        for _ in 0..<2 { #expect(try written.json(again, withEnumNumbers: false) == json) }
        #expect(written.count == 1)
    }

    @Test func `texts that are equal but for their bytes are written as they are`() throws {
        let written = WrittenTrips()
        // The sign of the unit kelvin equals the letter, the composed letter the one with an accent behind it.
        for id in ["K", "\u{212A}", "\u{E9}", "e\u{301}"] {
            var trip = Self.trip
            trip.vehicleID = id
            let json = try written.json(ShownTrip(trip), withEnumNumbers: false)
            #expect(Array(try Trip(jsonUTF8Bytes: json).vehicleID.utf8) == Array(id.utf8))
        }
    }

    @Test func `no more trips are remembered than have their place`() throws {
        let written = WrittenTrips()
        for number in 0..<WrittenTrips.capacity + 10 {
            _ = try written.json(ShownTrip(.with { $0.name = "providers/p/trips/\(number)" }), withEnumNumbers: false)
        }
        #expect(written.count == 10)
        var long = Self.trip
        long.route = Array(repeating: .with { $0.latitude = 48.137154 }, count: 1000)
        for _ in 0..<2 {
            #expect(try Trip(jsonUTF8Bytes: written.json(ShownTrip(long), withEnumNumbers: false)) == long)
        }
        // Of short JSON and a long image.
        long.route = Array(repeating: LatLng(), count: 1000)
        _ = try written.json(ShownTrip(long), withEnumNumbers: false)
        #expect(written.count == 10)
    }
}
