// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import GRPCCore
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import SwiftProtobuf
import Testing

@testable import FleetEngine
@testable import FleetTokens

@Suite(.timeLimit(.minutes(10))) struct StrictnessTests {
    private static let driverToken = "driver|vehicleid=veh-1"

    /// An engine that holds the vehicle `veh-1`, 1000 s after the issue of every token.
    private struct World {
        let clock = TestClock(TestClock.start + 1000)
        let engine: Engine

        init(
            _ profile: StrictnessProfile = .real, verifier: any TokenVerifying = TextVerifier(),
            log: RecordedLog? = nil
        ) async throws {
            let clock = self.clock
            self.engine = Engine(
                store: MemoryStore(), verifier: verifier,
                watch: DeviationWatch(profile: profile, logger: log?.logger), now: { clock.now })
            let request = CreateVehicle.Request.with {
                $0.parent = "providers/acme"
                $0.vehicleID = "veh-1"
                $0.vehicle = .sample
            }
            _ = try await self.engine.perform(CreateVehicle.self, request, token: serverToken)
        }

        func update(
            token: String = StrictnessTests.driverToken, mask: String...,
            remarks: CallRemarks? = nil, change: (inout UpdateVehicle.Request) -> Void = { _ in }
        ) async throws {
            var request = UpdateVehicle.Request.with {
                $0.name = "providers/acme/vehicles/veh-1"
                $0.updateMask.paths = mask
                $0.vehicle.lastLocation = .at(37.4, -122.1)
                $0.vehicle.vehicleState = .online
            }
            change(&request)
            _ = try await self.engine.perform(UpdateVehicle.self, request, token: token, remarks: remarks)
        }

        func report(after seconds: TimeInterval) async throws {
            self.clock.advance(by: seconds)
            try await self.update(mask: "last_location")
        }

        var counts: [String: Int] {
            Dictionary(uniqueKeysWithValues: self.engine.watch.totals.map { ($0.key.id, $0.value) })
        }
    }

    @Test func `reports from 5 to 60 s apart are as documented`() async throws {
        let world = try await World()
        for seconds in [0, 5, 4.6, 60, 60.4, 30] { try await world.report(after: seconds) }
        #expect(world.counts == [:])
    }

    @Test func `reports that come too fast or too slowly are counted by vehicle`() async throws {
        let world = try await World()
        for seconds in [0, 4.4, 1, 61, 20] { try await world.report(after: seconds) }
        #expect(world.counts == ["report-too-often": 2, "report-too-seldom": 1])
        let findings = world.engine.watch.findings
        #expect(findings.allSatisfy { $0.subject.kind == .vehicle && $0.subject.id == "veh-1" })
        let often = try #require(findings.first { $0.deviation == .reportTooOften })
        #expect(often.count == 2)
        #expect(often.lastSeen.timeIntervalSince(often.firstSeen) == 1)
        #expect(often.example.role == .driver)
        #expect(often.example.method == .updateVehicle)
        #expect(often.example.fingerprint == FleetToken(Self.driverToken).fingerprint)
    }

    @Test(arguments: StrictnessProfile.allCases)
    func `a token near its end is noted with what it reaches, and told by the strict profile alone`(
        profile: StrictnessProfile
    ) async throws {
        let log = RecordedLog()
        let world = try await World(profile, log: log)
        let remarks = CallRemarks()
        world.clock.advance(by: 2400)
        for _ in 0..<3 {
            world.clock.advance(by: 10)
            try await world.update(mask: "last_location", remarks: remarks)
        }
        #expect(world.counts == ["token-near-expiry": 3])
        let subject = try #require(world.engine.watch.findings.first).subject
        #expect(subject.kind == .vehicle && subject.id == "veh-1")
        let isStrict = profile == .strict
        let warned = remarks.fields.map { String($0.value.prefix { $0 != ":" }) }
        #expect(warned == Array(repeating: "token-near-expiry", count: isStrict ? 3 : 0))
        #expect(log.messages(at: .warning) == (isStrict ? ["A call departs from the documentation"] : []))
    }

    @Test func `a vehicle that goes offline or rests for hours is not late`() async throws {
        let world = try await World()
        try await world.report(after: 0)
        world.clock.advance(by: 10)
        try await world.update(mask: "vehicle_state", change: { $0.vehicle.vehicleState = .offline })
        try await world.report(after: 300)
        try await world.report(after: 7200)
        #expect(world.counts == [:])
    }

    @Test func `the update that sets a vehicle offline may bring its last location at any time`() async throws {
        let world = try await World()
        for seconds in [1.0, 100] {
            try await world.report(after: 10)
            world.clock.advance(by: seconds)
            try await world.update(mask: "vehicle_state", "last_location") { $0.vehicle.vehicleState = .offline }
        }
        #expect(world.counts == [:])
    }

    @Test func `an update of something else is no report`() async throws {
        let world = try await World()
        try await world.report(after: 0)
        try await world.update(mask: "vehicle_state")
        world.clock.advance(by: 30)
        try await world.update(mask: "vehicle_state")
        try await world.report(after: 31)
        #expect(world.counts == ["report-too-seldom": 1])
    }

    @Test func `a report that failed is not measured from`() async throws {
        let world = try await World()
        await #expect(throws: EngineError.self) {
            try await world.update(token: serverToken, mask: "last_location") {
                $0.name = "providers/acme/vehicles/veh-2"
            }
        }
        let create = CreateVehicle.Request.with {
            $0.parent = "providers/acme"
            $0.vehicleID = "veh-2"
            $0.vehicle = .sample
        }
        _ = try await world.engine.perform(CreateVehicle.self, create, token: serverToken)
        await #expect(throws: EngineError.self) {
            try await world.update(token: serverToken, mask: "last_location", "unknown") {
                $0.name = "providers/acme/vehicles/veh-2"
            }
        }
        world.clock.advance(by: 1)
        try await world.update(token: "driver|vehicleid=veh-2", mask: "last_location") {
            $0.name = "providers/acme/vehicles/veh-2"
        }
        #expect(world.counts["report-too-often"] == nil)
    }

    @Test func `a refused call is nobody's deviation`() async throws {
        let world = try await World()
        await #expect(throws: EngineError.self) {
            try await world.update(token: "driver|vehicleid=*other", mask: "last_location") {
                $0.vehicle.lastLocation.speedKmph = 3
            }
        }
        #expect(world.counts == [:])
    }

    @Test func `what the mask does not name is nobody's deviation`() async throws {
        let world = try await World()
        try await world.update(mask: "vehicle_state") {
            $0.vehicle.lastLocation.speedKmph = 3
            $0.vehicle.lastLocation.serverTime.seconds = 1
            $0.vehicle.attributes = [.with { $0.value = "old" }]
        }
        #expect(world.counts == [:])
    }

    @Test(
        arguments: [
            (["trip_status"], false), (["trip_status", "actual_pickup_point", "pickup_points"], false), ([], false),
            (["pickup_point"], true), (["pickupPoint.point"], false), (["pickupPoint.accessPointId"], true),
            (["trip_status", "dropoff_point"], true),
            (["dropoffPoint"], true), (["intermediate_destinations"], true), (["intermediateDestinations"], true),
        ] as [([String], Bool)])
    func `of an updated trip, only fields that the mask names are looked at`(mask: [String], isFound: Bool) {
        let place = TerminalLocation.with { $0.accessPointID = "gate" }
        let request = UpdateTrip.Request.with {
            $0.updateMask.paths = mask
            $0.trip.pickupPoint = place
            $0.trip.dropoffPoint = place
            $0.trip.intermediateDestinations = [place]
        }
        #expect(request.deviations.contains(.deprecatedField) == isFound)
    }

    @Test(
        arguments: [
            ("last_location.supplemental_location", [], false), ("lastLocation.heading", [], false),
            ("lastLocation.speedKmph", [.deprecatedField], false), ("last_location.location.latitude", [], true),
            ("lastLocation", [.deprecatedField, .outputOnlyField], true),
        ] as [(String, Set<Deviation>, Bool)])
    func `of a location of which the mask names a part, only that is looked at`(
        path: String, found: Set<Deviation>, isOfDevice: Bool
    ) {
        var request = UpdateVehicle.Request()
        request.updateMask.paths = [path]
        request.vehicle.lastLocation = .at(37.4, -122.1)
        request.vehicle.lastLocation.speedKmph = 3
        request.vehicle.lastLocation.serverTime.seconds = 1
        #expect(Set(request.deviations) == found)
        #expect(request.report?.isOfDevice == isOfDevice)
    }

    @Test(arguments: [(100, true), (101, false)])
    func `nothing is looked up in a mask that is refused for its length`(count: Int, isLookedAt: Bool) {
        var request = UpdateVehicle.Request()
        request.updateMask.paths = Array(repeating: "lastLocation", count: count)
        request.vehicle.lastLocation = .at(37.4, -122.1)
        #expect((request.report != nil) == isLookedAt)
    }

    @Test func `each field of a created trip that is the service's own is found`() {
        let trips: [Trip] = [
            .with { $0.pickupTime.seconds = 1 }, .with { $0.dropoffTime.seconds = 1 }, .with { $0.route = [.init()] },
            .with { $0.currentRouteSegment = "x" }, .with { $0.currentRouteSegmentVersion.seconds = 1 },
            .with { $0.currentRouteSegmentTraffic = .init() },
            .with { $0.currentRouteSegmentTrafficVersion.seconds = 1 },
            .with { $0.currentRouteSegmentEndPoint = .init() }, .with { $0.remainingWaypoints = [.init()] },
            .with { $0.remainingWaypointsVersion.seconds = 1 }, .with { $0.remainingWaypointsRouteVersion.seconds = 1 },
            .with { $0.remainingDistanceMeters = 1 }, .with { $0.etaToFirstWaypoint.seconds = 1 },
            .with { $0.remainingTimeToFirstWaypoint.seconds = 1 }, .with { $0.lastLocation = .init() },
            .with { $0.lastLocationSnappable = true }, .with { $0.view = .sdk },
        ]
        #expect(trips.count == TripFields.outputOnly.count)
        for trip in trips {
            let request = CreateTrip.Request.with { $0.trip = trip }
            #expect(Set(request.deviations) == [.outputOnlyField])
        }
    }

    @Test func `a terminal location's kind and a stop's former time are deprecated`() {
        let place = TerminalLocation.with { $0.terminalLocationType = .pickupWaypointType }
        let stop = StopLocation.with { $0.stopTime.seconds = 1 }
        let trips: [(field: String, trip: Trip)] = [
            ("pickup_point", .with { $0.pickupPoint = place }), ("dropoffPoint", .with { $0.dropoffPoint = place }),
            ("intermediate_destinations", .with { $0.intermediateDestinations = [place] }),
            ("actual_pickup_point.stop_time", .with { $0.actualPickupPoint = stop }),
            ("actual_pickup_arrival_point", .with { $0.actualPickupArrivalPoint = stop }),
            ("actualDropoffPoint", .with { $0.actualDropoffPoint = stop }),
            ("actual_intermediate_destinations", .with { $0.actualIntermediateDestinations = [stop] }),
            (
                "actual_intermediate_destination_arrival_points",
                .with { $0.actualIntermediateDestinationArrivalPoints = [stop] }
            ),
        ]
        for (field, trip) in trips {
            var request = UpdateTrip.Request.with { $0.trip = trip }
            request.updateMask.paths = [field]
            #expect(Set(request.deviations) == [.deprecatedField], "\(field)")
            request.updateMask.paths = ["trip_status"]
            #expect(request.deviations.isEmpty, "\(field)")
        }
    }

    @Test func `past locations are looked at like the last one`() {
        var location = VehicleLocation()
        location.numStaleUpdates = 1
        location.serverTime.seconds = 1
        var update = UpdateVehicle.Request()
        update.vehicle.pastLocations = [location]
        #expect(update.deviations.isEmpty)
        update.updateMask.paths = ["pastLocations"]
        #expect(Set(update.deviations) == [.deprecatedField, .outputOnlyField])
        var create = CreateVehicle.Request()
        create.vehicle = update.vehicle
        #expect(Set(create.deviations) == [.deprecatedField, .outputOnlyField])
        create.vehicle = .with { $0.lastLocation = location }
        #expect(Set(create.deviations) == [.deprecatedField, .outputOnlyField])
        var delivery = Maps_Fleetengine_Delivery_V1_UpdateDeliveryVehicleRequest()
        delivery.updateMask.paths = ["past_locations"]
        delivery.deliveryVehicle.pastLocations = [.with { $0.numStaleUpdates = 1 }]
        #expect(Set(delivery.deviations) == [.deprecatedField])
    }

    @Test func `an empty location is none`() {
        var request = CreateVehicle.Request()
        request.vehicle = .sample
        request.vehicle.lastLocation = .init()
        #expect(Set(request.deviations) == [.onlineWithoutLocation])
    }

    @Test func `of a created trip, every field is looked at`() {
        let place = TerminalLocation.with { $0.accessPointID = "gate" }
        let trips: [Trip] = [
            .with { $0.pickupPoint = place }, .with { $0.dropoffPoint = place },
            .with { $0.intermediateDestinations = [place] },
        ]
        for trip in trips {
            var request = CreateTrip.Request()
            request.trip = trip
            #expect(Set(request.deviations) == [.deprecatedField])
        }
    }

    @Test func `the location of a delivery vehicle's creation is looked at`() {
        var request = Maps_Fleetengine_Delivery_V1_CreateDeliveryVehicleRequest()
        request.deliveryVehicle.lastLocation.horizontalAccuracy = 3.0
        request.deliveryVehicle.lastLocation.serverTime.seconds = 1
        #expect(Set(request.deviations) == [.deprecatedField, .outputOnlyField])
    }

    @Test func `what a request says against the contract is found`() async throws {
        let world = try await World()
        try await world.update(mask: "last_location") { $0.vehicle.lastLocation.speedKmph = 30 }
        #expect(world.counts == ["deprecated-field": 1])
        world.clock.advance(by: 10)
        try await world.update(mask: "last_location") { $0.header.sdkVersion = "4" }
        #expect(world.counts["header-without-region"] == 1)
        world.clock.advance(by: 10)
        try await world.update(mask: "last_location") { $0.vehicle.lastLocation.serverTime.seconds = 1 }
        #expect(world.counts["output-only-field"] == 1)
        let online = CreateVehicle.Request.with {
            $0.parent = "providers/acme"
            $0.vehicleID = "veh-2"
            $0.vehicle = .sample
            $0.vehicle.clearLastLocation()
        }
        _ = try await world.engine.perform(CreateVehicle.self, online, token: serverToken)
        #expect(world.counts["online-without-location"] == 1)
    }

    @Test func `a backend's token in an SDK, or on a device's place, is found`() async throws {
        let world = try await World()
        try await world.update(token: serverToken, mask: "last_location") {
            $0.header.regionCode = "US"
            $0.header.sdkType = .driver
        }
        #expect(world.counts == ["backend-token-in-sdk": 1, "device-location-from-backend": 1])
        #expect(world.engine.watch.findings.allSatisfy { $0.example.role == .server })
        world.clock.advance(by: 10)
        try await world.update(token: serverToken, mask: "last_location") {
            $0.vehicle.lastLocation = .init()
            $0.vehicle.lastLocation.supplementalLocation = .at(37.4, -122.1)
        }
        #expect(world.counts["device-location-from-backend"] == 1)
    }

    @Test func `several roles go with the SDK of any, and are a device's where all of them are`() async throws {
        let world = try await World(verifier: SeveralRolesVerifier())
        func report(as roles: String) async throws {
            world.clock.advance(by: 10)
            try await world.update(token: "\(roles)|vehicleid=veh-1", mask: "last_location") {
                $0.header.regionCode = "US"
                $0.header.sdkType = .driver
            }
        }
        try await report(as: "driver+delivery_untrusted_driver")
        #expect(world.counts == [:])
        try await report(as: "server+driver")
        #expect(world.counts == ["device-location-from-backend": 1])
        #expect(world.engine.watch.findings.map(\.example.role?.rawValue) == ["server+driver"])
        try await report(as: "server+delivery_server")
        #expect(world.counts == ["device-location-from-backend": 2, "backend-token-in-sdk": 1])
    }

    @Test func `findings and vehicles are bounded`() throws {
        let watch = DeviationWatch(maximumFindings: 8, maximumVehicles: 4)
        var request = UpdateVehicle.Request()
        request.updateMask.paths = ["lastLocation"]
        request.vehicle.lastLocation.speedKmph = 3
        for number in 0..<100 {
            let access = AccessRequest(
                method: .updateVehicle, provider: try #require(ProviderID("acme")), vehicle: VehicleID("veh-\(number)"))
            _ = watch.observe(request, access, token: nil, at: TestClock.start + TimeInterval(number))
        }
        #expect(watch.findings.count <= 8)
        #expect(watch.findings.first?.subject.id == "veh-99")
        #expect(watch.totals == [.deprecatedField: 100])
        var intervals = ReportIntervals(maximumVehicles: 4)
        for number in 0..<100 {
            let access = AccessRequest(
                method: .updateVehicle, provider: try #require(ProviderID("acme")), vehicle: VehicleID("veh-\(number)"))
            intervals.note(LocationReport(isLocated: true), of: access, at: TestClock.start)
        }
        #expect(intervals.count <= 4)
    }

    @Test func `nothing that is kept holds a token`() async throws {
        let world = try await World()
        try await world.update(mask: "last_location") { $0.vehicle.lastLocation.speedKmph = 30 }
        var dump = ""
        Swift.dump(world.engine.watch.findings, to: &dump)
        let report = try JSONEncoder().encode(DeviationReport(world.engine.watch, profile: .real))
        #expect(!dump.contains(Self.driverToken) && !String(decoding: report, as: UTF8.self).contains(Self.driverToken))
    }

    @Test func `a list without vehicle types passes in real and is refused in strict`() async throws {
        let list = ListVehicles.Request.with { $0.parent = "providers/acme" }
        let real = try await World()
        _ = try await real.engine.perform(ListVehicles.self, list, token: serverToken)
        #expect(real.counts == ["list-without-vehicle-types": 1])
        let strict = try await World(.strict)
        await #expect {
            _ = try await strict.engine.perform(ListVehicles.self, list, token: serverToken)
        } throws: { error in
            let error = error as? EngineError
            return error?.code == .invalidArgument && error?.metadata["rule"] == "list-without-vehicle-types"
        }
        #expect(strict.counts == ["list-without-vehicle-types": 1])
    }

    @Test(arguments: StrictnessProfile.allCases)
    func `only the strict profile warns over REST, in answers and in errors`(profile: StrictnessProfile) async throws {
        let world = try await World(profile)
        let router = Router()
        EngineRoutes(engine: world.engine).add(to: router)
        try await Application(router: router).test(.router) { client in
            for (id, status) in [("veh-1", 200), ("veh-2", 404)] {
                let response = try await client.execute(
                    uri: "/v1/providers/acme/vehicles/\(id)?header.sdkVersion=4", method: .get,
                    headers: [.authorization: "Bearer \(serverToken)"])
                #expect(response.status.code == status)
                let warnings = try response.headers[values: #require(HTTPField.Name(CallRemarks.warningName))]
                #expect(warnings.count == (profile == .strict ? 1 : 0))
                #expect(warnings.allSatisfy { $0.hasPrefix("header-without-region: ") })
            }
        }
    }

    @Test(arguments: StrictnessProfile.allCases)
    func `only the strict profile warns over gRPC, in answers and in errors`(profile: StrictnessProfile) async throws {
        let world = try await World(profile)
        try await GRPCWire.withClient(of: world.engine) { wire in
            let vehicles = Maps_Fleetengine_V1_VehicleService.Client(wrapping: wire.client)
            for id in ["veh-1", "veh-2"] {
                let request = GetVehicle.Request.with {
                    $0.name = "providers/acme/vehicles/\(id)"
                    $0.header.sdkVersion = "4"
                }
                let metadata = try await vehicles.getVehicle(
                    request, metadata: ["authorization": "Bearer \(serverToken)"]
                ) { response in
                    switch response.accepted {
                    case .success: response.trailingMetadata
                    case .failure(let error): error.metadata
                    }
                }
                let warnings = Array(metadata[stringValues: CallRemarks.warningName])
                #expect(warnings.count == (profile == .strict ? 1 : 0))
                #expect(warnings.allSatisfy { $0.hasPrefix("header-without-region: ") })
            }
        }
    }

    @Test func `the report of a running engine is served as JSON`() async throws {
        let world = try await World()
        try await world.update(mask: "last_location") { $0.vehicle.lastLocation.speedKmph = 30 }
        let router = Router()
        DeviationRoutes(engine: world.engine).add(to: router)
        try await Application(router: router).test(.router) { client in
            let response = try await client.execute(uri: "/deviations", method: .get)
            let head = try await client.execute(uri: "/deviations", method: .head)
            #expect(head.headers == response.headers && head.body.readableBytes == 0)
            let report = try JSONDecoder().decode(DeviationReport.self, from: Data(response.body.readableBytesView))
            #expect(report.profile == "real")
            #expect(report.deviations.map(\.id) == ["deprecated-field"])
            #expect(report.deviations.first?.subjects.map(\.id) == ["veh-1"])
            #expect(report.deviations.first?.subjects.map(\.provider) == ["acme"])
            #expect(report.deviations.first?.subjects.first?.firstSeen == "2027-01-15T08:16:40Z")
        }
    }

    @Test func `two vehicles of one id are told apart by their providers`() throws {
        let watch = DeviationWatch()
        var request = UpdateVehicle.Request()
        request.updateMask.paths = ["lastLocation"]
        request.vehicle.lastLocation.speedKmph = 3
        for (second, provider) in ["acme", "other", "other"].enumerated() {
            let access = AccessRequest(
                method: .updateVehicle, provider: try #require(ProviderID(provider)), vehicle: VehicleID("veh-1"))
            _ = watch.observe(request, access, token: nil, at: TestClock.start + TimeInterval(second))
        }
        let report = DeviationReport(watch, profile: .real)
        #expect(report.deviations.map(\.count) == [3])
        let subjects = try #require(report.deviations.first?.subjects)
        #expect(subjects.map(\.id) == ["veh-1", "veh-1"])
        #expect(subjects.map(\.provider) == ["other", "acme"])
        #expect(subjects.map(\.count) == [2, 1])
        let json = String(decoding: try JSONEncoder().encode(report), as: UTF8.self)
        #expect(json.contains("\"provider\":\"other\"") && json.contains("\"provider\":\"acme\""))
    }

    @Test func `a recording is examined without tokens`() throws {
        func entry(_ second: Int) -> String {
            """
            {"timestamp":"2026-01-01T00:00:0\(second)Z","logName":"projects/acme/logs/x","jsonPayload":{            "@type":"type.googleapis.com/maps.fleetengine.v1.UpdateVehicleLog",            "request":{"vehicleId":"veh-1","updateMask":"lastLocation",            "vehicle":{"lastLocation":{"location":{"latitude":1,"longitude":2},"speedKmph":30}}},            "response":{"name":"providers/acme/vehicles/veh-1"}}}
            """
        }
        let recording = try CallRecording(parsing: Data("\(entry(1))\n\(entry(4))\n".utf8))
        let (report, unread) = recording.examineDeviations()
        #expect(unread == 0)
        #expect(report.deviations.map(\.id) == ["report-too-often", "deprecated-field"])
        #expect(report.deviations.map(\.count) == [1, 2])
    }
}

/// Reads tokens as `TextVerifier` does; their accounts may have several roles, with `+` between them.
private struct SeveralRolesVerifier: TokenVerifying {
    func verify(_ token: String, at now: Date) throws(TokenRefusal) -> ExaminedToken {
        let token = try TextVerifier().verify(token, at: now)
        var account = token.account
        account.roles = Set(account.role?.rawValue.split(separator: "+").map { Role(rawValue: String($0)) } ?? [])
        account.granted = Set(account.roles.flatMap(\.permissions))
        return ExaminedToken(claims: token.claims, account: account, keyID: token.keyID)
    }
}
