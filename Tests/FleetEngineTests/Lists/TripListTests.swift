// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf
import Testing

@testable import FleetEngine

/// Searches and deletions of trips and vehicles, and billing.
@Suite struct TripListTests {
    private static func withWorld(_ kind: StoreKind, _ body: (EngineFixture) async throws -> Void) async throws {
        try await kind.withStore { store in
            let fixture = EngineFixture(store: store)
            for id in ["veh-1", "veh-2"] { try await fixture.createVehicle(id) }
            for (id, vehicle) in [("t1", "veh-1"), ("t2", "veh-1"), ("t3", "veh-2"), ("t4", "")] {
                try await fixture.createTrip(id, .with(.sample) { $0.vehicleID = vehicle })
            }
            try await fixture.updateTrip("t2", ["trip_status"]) { $0.tripStatus = .complete }
            try await body(fixture)
        }
    }

    private static func search(
        _ fixture: EngineFixture, token: String = serverToken, _ change: (inout SearchTrips.Request) -> Void = { _ in }
    ) async throws -> SearchTrips.Response {
        var request = SearchTrips.Request.with { $0.parent = "providers/acme" }
        change(&request)
        return try await fixture.engine.perform(SearchTrips.self, request, token: token)
    }

    private static func ids(_ response: SearchTrips.Response) -> [String] {
        response.trips.map { String($0.name.split(separator: "/")[3]) }
    }

    @Test(arguments: [(Int64.min, Int32.min), (.max, .max), (.min, 0), (.max, 0), (0, .min)])
    func `a staleness that nobody can wait for is answered`(seconds: Int64, nanos: Int32) async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        try await fixture.createTrip("trip-1")
        let outcome = await code {
            try await fixture.engine.perform(
                SearchTrips.self,
                .with {
                    $0.parent = "providers/acme"
                    $0.minimumStaleness.seconds = seconds
                    $0.minimumStaleness.nanos = nanos
                }, token: serverToken)
        }
        #expect(outcome == (seconds < 0 || nanos < 0 ? .invalidArgument : nil))
    }

    @Test(arguments: StoreKind.allCases)
    func `trips are found by vehicle, by activity and by age`(kind: StoreKind) async throws {
        try await Self.withWorld(kind) { fixture in
            #expect(Self.ids(try await Self.search(fixture)) == ["t1", "t2", "t3", "t4"])
            #expect(Self.ids(try await Self.search(fixture) { $0.activeTripsOnly = true }) == ["t1", "t3"])
            let driver = "driver|vehicleid=veh-1"
            #expect(
                Self.ids(try await Self.search(fixture, token: driver) { $0.vehicleID = "veh-1" }) == ["t1", "t2"])
            let active = try await Self.search(fixture) {
                $0.vehicleID = "veh-1"
                $0.activeTripsOnly = true
            }
            #expect(Self.ids(active) == ["t1"])
            #expect(Self.ids(try await Self.search(fixture) { $0.vehicleID = "veh-9" }).isEmpty)

            fixture.advance(by: 60)
            try await fixture.updateTrip("t4", ["attributes"])
            #expect(
                Self.ids(try await Self.search(fixture) { $0.minimumStaleness.seconds = 60 }) == ["t1", "t2", "t3"])
            #expect(Self.ids(try await Self.search(fixture) { $0.minimumStaleness.seconds = 61 }).isEmpty)
            #expect(
                await code { try await Self.search(fixture) { $0.minimumStaleness.seconds = -1 } } == .invalidArgument)
        }
    }

    @Test func `a page of trips ends before their vehicle's way makes it too long for clients`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        for id in ["t1", "t2", "t3"] { try await fixture.createTrip(id, .with(.sample) { $0.vehicleID = "veh-1" }) }
        try await fixture.updateVehicle("veh-1", ["current_route_segment"]) {
            $0.currentRouteSegment = String(repeating: "x", count: 1_400_000)
        }
        let first = try await Self.search(fixture) { $0.vehicleID = "veh-1" }
        #expect(Self.ids(first) == ["t1", "t2"])
        let second = try await Self.search(fixture) {
            $0.vehicleID = "veh-1"
            $0.pageToken = first.nextPageToken
        }
        #expect(Self.ids(second) == ["t3"])
        #expect(second.nextPageToken.isEmpty)
        // A search over all vehicles tells no segments.
        #expect(Self.ids(try await Self.search(fixture)) == ["t1", "t2", "t3"])
    }

    @Test func `a search over all vehicles leaves their ways out`() async throws {
        try await Self.withWorld(.memory) { fixture in
            try await fixture.updateVehicle("veh-1", ["current_route_segment"]) { $0.currentRouteSegment = "AhY" }
            let all = try await Self.search(fixture) { $0.activeTripsOnly = true }
            let one = try await Self.search(fixture) {
                $0.vehicleID = "veh-1"
                $0.activeTripsOnly = true
            }
            let (bare, full) = try (#require(all.trips.first), #require(one.trips.first))
            #expect(bare.vehicleID == "veh-1")
            #expect(bare.remainingWaypoints.isEmpty)
            #expect(!bare.hasRemainingWaypointsVersion)
            #expect(bare.currentRouteSegment.isEmpty)
            #expect(!bare.hasCurrentRouteSegmentVersion)
            #expect(!bare.hasCurrentRouteSegmentEndPoint)
            #expect(!bare.hasEtaToFirstWaypoint)
            #expect(!bare.hasRemainingDistanceMeters)
            #expect(!bare.hasRemainingTimeToFirstWaypoint)
            #expect(full.remainingWaypoints.count == 2)
            #expect(full.hasEtaToFirstWaypoint)
            #expect(full.currentRouteSegment == "AhY")
            #expect(full.hasRemainingWaypointsVersion && full.hasCurrentRouteSegmentVersion)
            #expect(full.hasCurrentRouteSegmentEndPoint)
            #expect(full.vehicleWaypoints.isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `pages of trips go on where they ended`(kind: StoreKind) async throws {
        try await Self.withWorld(kind) { fixture in
            var seen: [String] = []
            var token = ""
            repeat {
                let page = try await Self.search(fixture) {
                    $0.pageSize = 3
                    $0.pageToken = token
                }
                seen += Self.ids(page)
                token = page.nextPageToken
            } while !token.isEmpty
            #expect(seen == ["t1", "t2", "t3", "t4"])
        }
    }

    // MARK: - Deletion

    private static func deleteTrip(_ id: String, _ fixture: EngineFixture) async -> EngineError.Code? {
        await code {
            try await fixture.engine.perform(
                DeleteTrip.self, .with { $0.name = "providers/acme/trips/\(id)" }, token: serverToken)
        }
    }

    private static func deleteVehicle(_ id: String, _ fixture: EngineFixture) async -> EngineError.Code? {
        await code {
            try await fixture.engine.perform(
                DeleteVehicle.self, .with { $0.name = "providers/acme/vehicles/\(id)" }, token: serverToken)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a trip goes once no vehicle drives it, and a vehicle once it drives no trip`(kind: StoreKind) async throws {
        try await Self.withWorld(kind) { fixture in
            #expect(await Self.deleteTrip("t1", fixture) == .failedPrecondition)
            #expect(await Self.deleteTrip("t4", fixture) == nil)
            #expect(await code { try await fixture.trip("t4") } == .notFound)
            #expect(await Self.deleteTrip("t4", fixture) == .notFound)
            #expect(await Self.deleteVehicle("veh-1", fixture) == .failedPrecondition)
            try await fixture.updateTrip("t1", ["trip_status"]) { $0.tripStatus = .canceled }
            #expect(await Self.deleteVehicle("veh-1", fixture) == nil)
            #expect(await code { try await fixture.vehicle("veh-1") } == .notFound)
            #expect(await Self.deleteVehicle("veh-1", fixture) == .notFound)
            // An ended trip outlives its vehicle, and can still be read, changed and deleted.
            #expect(try await fixture.trip("t1").vehicleID == "veh-1")
            try await fixture.updateTrip("t1", ["attributes"]) { $0.attributes = [.with { $0.key = "k" }] }
            #expect(await Self.deleteTrip("t1", fixture) == nil)
            #expect(await code { try await fixture.createVehicle("veh-1") } == nil)
        }
    }

    // MARK: - Billing

    private static func report(_ change: (inout ReportBillableTrip.Request) -> Void) async -> EngineError.Code? {
        var request = ReportBillableTrip.Request.with {
            $0.name = "providers/acme/billableTrips/trip-1"
            $0.countryCode = "DE"
        }
        change(&request)
        return await code {
            try await EngineFixture().engine.perform(ReportBillableTrip.self, request, token: serverToken)
        }
    }

    @Test func `a billable trip is reported, known or not, with country, platform and relations`() async throws {
        #expect(await Self.report { _ in } == nil)
        #expect(
            await Self.report {
                $0.platform = .ios
                $0.relatedIds = (0..<50).map(String.init)
                $0.solutionType = .onDemandRidesharingAndDeliveries
            } == nil)
        #expect(await Self.report { $0.countryCode = "" } == .invalidArgument)
        #expect(await Self.report { $0.countryCode = "DEU" } == .invalidArgument)
        #expect(await Self.report { $0.platform = .UNRECOGNIZED(9) } == .invalidArgument)
        #expect(await Self.report { $0.relatedIds = (0..<51).map(String.init) } == .invalidArgument)
        #expect(await Self.report { $0.name = "providers/acme/trips/trip-1" } == .invalidArgument)
    }
}
