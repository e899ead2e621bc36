// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTestSupport
import Foundation
import Logging
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct TripViewsTests {
    /// Two engines over one store, of which one remembers what it showed.
    private struct Pair {
        let remembering: EngineFixture
        let plain: Engine

        init(_ store: any EngineStore) {
            self.remembering = EngineFixture(store: store)
            let clock = self.remembering.clock
            // A store that is wrapped does not say of itself that it repeats messages.
            self.plain = Engine(store: StatedStore(store: store), verifier: TextVerifier(), now: { clock.now })
        }

        /// What both answer a look at a trip with; once what was shown was not remembered, and once it was.
        func look(_ request: GetTrip.Request) async throws -> Trip {
            let plain = try await self.plain.perform(GetTrip.self, request, token: serverToken)
            for _ in 0..<2 {
                let shown = try await self.remembering.engine.perform(GetTrip.self, request, token: serverToken)
                #expect(
                    try shown.serializedBytes() as [UInt8] == plain.serializedBytes(),
                    "\(shown.textFormatString())\n---\n\(plain.textFormatString())")
            }
            return plain
        }
    }

    private static func step(_ world: EngineFixture, _ random: inout SeededGenerator) async throws {
        let vehicle = "veh-\(Int.random(in: 0...1, using: &random))"
        let trip = "trip-\(Int.random(in: 0...2, using: &random))"
        switch Int.random(in: 0...9, using: &random) {
        case 0...2:
            let place = LatLng.at(37.42 + Double.random(in: 0...0.05, using: &random), -122.07)
            try await world.updateVehicle(vehicle, ["last_location"]) { $0.lastLocation.location = place }
        case 3:
            let seconds = Int64.random(in: 0...90, using: &random)
            try await world.updateVehicle(vehicle, ["eta_to_first_waypoint"]) {
                $0.etaToFirstWaypoint.seconds = Int64(world.clock.now.timeIntervalSince1970) + seconds
            }
        case 4:
            try await world.updateVehicle(vehicle, ["current_route_segment"]) { $0.currentRouteSegment = "AhY" }
        case 5:
            let status: TripStatus =
                [.enrouteToPickup, .arrivedAtPickup, .enrouteToDropoff, .complete]
                .randomElement(using: &random) ?? .enrouteToPickup
            _ = try? await world.updateTrip(trip, ["trip_status"]) { $0.tripStatus = status }
        case 6:
            _ = try? await world.updateTrip(trip, ["vehicle_id"]) { $0.vehicleID = vehicle }
        case 7:
            _ = try? await world.updateTrip(trip, ["number_of_passengers"]) { $0.numberOfPassengers = 1 }
        default:
            // Also over times of arrival, and back.
            world.advance(by: [0.25, 1, 30, 400, -20].randomElement(using: &random) ?? 1)
        }
    }

    private static func trip(_ type: TripType, with vehicle: Int) -> Trip {
        var trip = Trip.sample
        trip.tripType = type
        trip.vehicleID = "veh-\(vehicle)"
        return trip
    }

    private static func request(of trip: Int, _ random: inout SeededGenerator, after known: Trip?) -> GetTrip.Request {
        .with {
            $0.name = "providers/acme/trips/trip-\(trip)"
            $0.view = [.unspecified, .sdk, .journeySharingV1S].randomElement(using: &random) ?? .sdk
            $0.routeFormatType =
                [.unknownFormatType, .latLngListType, .encodedPolylineType].randomElement(using: &random)
                ?? .latLngListType
            if let known, known.hasCurrentRouteSegmentVersion, Bool.random(using: &random) {
                $0.currentRouteSegmentVersion = known.currentRouteSegmentVersion
            }
        }
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `a trip is shown as if nothing were remembered, whatever happens and whenever`(seed: UInt64) async throws {
        try await withTemporaryFolder { folder in
            let file = try SQLiteStore(
                path: folder.appending(path: "views.sqlite").path(percentEncoded: false),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let stores: [any EngineStore] = [MemoryStore(), file]
            let pair = Pair(stores[Int(seed % 2)])
            let world = pair.remembering
            var random = SeededGenerator(seed: seed)
            var vehicle = Vehicle.sample
            vehicle.supportedTripTypes = [.shared]
            for number in 0...1 { try await world.createVehicle("veh-\(number)", vehicle) }
            for number in 0...2 { try await world.createTrip("trip-\(number)", Self.trip(.shared, with: number % 2)) }
            var known: [Int: Trip] = [:]
            for _ in 0..<60 {
                try await Self.step(world, &random)
                let trip = Int.random(in: 0...2, using: &random)
                known[trip] = try await pair.look(Self.request(of: trip, &random, after: known[trip]))
            }
            try await file.close()
        }
    }

    @Test func `who asks again is given the same message until the vehicle reports`() async throws {
        let world = EngineFixture()
        try await world.createVehicle("veh-1")
        var trip = Self.trip(.exclusive, with: 1)
        trip.pickupPoint = .at(37.5, -122.073885)
        try await world.createTrip("trip-1", trip)
        func look() async throws -> ShownTrip {
            try await world.engine.answer(
                GetTrip.self, .with { $0.name = "providers/acme/trips/trip-1" }, token: serverToken)
        }
        let first = try await look()
        world.advance(by: 2)
        let second = try await look()
        #expect(isSameInstance(first.lasting, second.lasting))
        #expect(first.remainingTime != second.remainingTime)
        try await world.updateVehicle("veh-1", ["last_location"]) { $0.lastLocation.location = .at(37.43, -122.07) }
        let third = try await look()
        #expect(!isSameInstance(second.lasting, third.lasting))
    }

    /// Has views remember a trip of a vehicle, if they do.
    private static func look(
        _ views: TripViews, _ number: Int, stops: Int = 1, change: (inout Vehicle, inout Trip) -> Void = { _, _ in }
    ) {
        let context = CallContext(now: TestClock.start, routes: StraightLineEstimator(), seesEveryVehicle: false)
        let stop = TripWaypoint.with {
            $0.tripID = "\(number)"
            $0.location = .at(37.5, -122)
        }
        var vehicle = Vehicle.sample
        vehicle.lastLocation.serverTime = Google_Protobuf_Timestamp(stamping: context.now)
        vehicle.waypoints = Array(repeating: stop, count: stops)
        var trip = Trip.with {
            $0.vehicleID = "veh-1"
            $0.tripStatus = .enrouteToPickup
        }
        change(&vehicle, &trip)
        let question = TripView.Question(trip: trip, vehicle: vehicle, viewer: TripView.Viewer(.init()))
        _ = views.answer(question, id: "\(number)", name: "\(number)", context: context)
    }

    @Test func `no more trips are remembered than have their place`() {
        let views = TripViews()
        for number in 0..<TripViews.capacity + 10 { Self.look(views, number, stops: number % 3) }
        #expect(views.count == 10)
        Self.look(views, -1, stops: TripViews.maximumStops + 1)
        #expect(views.count == 10)
        Self.look(views, -1, stops: TripViews.maximumStops)
        #expect(views.count == 11)
    }

    private static let changes: [(@Sendable (inout Vehicle, inout Trip) -> Void, isKept: Bool)] = [
        ({ vehicle, _ in vehicle.currentRouteSegment = String(repeating: "a", count: 1000) }, true),
        ({ vehicle, _ in vehicle.currentRouteSegment = String(repeating: "a", count: 100_000) }, false),
        ({ vehicle, _ in vehicle.waypoints.append(contentsOf: Self.stops(8)) }, true),
        ({ vehicle, _ in vehicle.waypoints.append(contentsOf: Self.stops(1000)) }, false),
        ({ _, trip in trip.intermediateDestinations = Array(repeating: .at(1, 2), count: 10) }, true),
        ({ _, trip in trip.intermediateDestinations = Array(repeating: .at(1, 2), count: 500) }, false),
    ]

    /// Stops of another trip, which this one is not shown with.
    private static func stops(_ count: Int) -> [TripWaypoint] {
        Array(
            repeating: .with {
                $0.tripID = "other"
                $0.location = .at(37.6, -122)
            }, count: count)
    }

    @Test(arguments: changes.indices, 0...1)
    func `a trip is not remembered where it or its vehicle is long`(index: Int, stops: Int) {
        let (change, isKept) = Self.changes[index]
        let views = TripViews()
        Self.look(views, 1, stops: stops, change: change)
        #expect(views.count == (isKept ? 1 : 0))
    }
}
