// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetSigning
import FleetTestSupport
import FleetTokens
import Foundation
import Hummingbird
import HummingbirdTesting
import Logging
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct OSRMRouterTests {
    /// A fixture whose engine asks the stand-in, and what the router logged.
    private struct World {
        let server = RouterStandIn()
        let log = RecordedLog()
        let clock = ManualClock()
        let router: OSRMRouter
        let fixture: EngineFixture

        init(cachedLegs: Int = 100) throws {
            self.router = try OSRMRouter(
                .init(url: "http://osrm.test:5000/", cachedLegs: cachedLegs), transport: self.server,
                logger: self.log.logger, clock: self.clock)
            self.fixture = EngineFixture(router: self.router)
        }

        /// A vehicle on its way to the pickup of a trip; whatever that asked for is forgotten.
        func start() async throws {
            try await self.fixture.createVehicle("veh-1")
            var trip = Trip.sample
            trip.vehicleID = "veh-1"
            trip.pickupPoint = .at(37.43, -122.08)
            try await self.fixture.createTrip("trip-1", trip)
        }

        func elapse(_ time: Duration) { self.clock.advance(by: time) }
    }

    private static let bends = [LatLng.at(38.5, -120.2), .at(40.7, -120.95), .at(43.252, -126.453)]
    private static let way = KnownRoad.way(RouteEstimate(meters: 2500.4, duration: .seconds(300.5), path: Self.bends))
    private static let leg = RouteLeg(start: .at(37.42, -122.07), end: .at(37.43, -122.08))

    @Test func `a reader sees the way along the roads`() async throws {
        let world = try World()
        try await world.start()
        let trip = try await world.fixture.trip("trip-1")
        #expect(trip.route == Self.bends)
        #expect(trip.remainingWaypoints.map(\.distanceMeters.value) == [2500, 2500])
        #expect(trip.remainingWaypoints.first?.duration.seconds == 300)
        let url = try #require(world.server.urls.first { $0.contains("-122.0739,37.4196;-122.0800,37.4300") })
        #expect(
            url == "http://osrm.test:5000/route/v1/driving/-122.0739,37.4196;-122.0800,37.4300"
                + "?overview=full&geometries=polyline&annotations=false&steps=false")
    }

    @Test func `a leg that was answered since it was found unknown is not asked for again`() async throws {
        let world = try World()
        for _ in 1...2 {
            #expect(await world.router.learn([Self.leg]))
            world.router.prepare([Self.leg])
            #expect(world.server.urls.count == 1)
        }
    }

    @Test func `a leg is asked for once, and near it nothing new`() async throws {
        let world = try World()
        try await world.start()
        _ = try await world.fixture.trip("trip-1")
        let asked = world.server.urls.count
        try await world.fixture.updateVehicle("veh-1", ["last_location"]) {
            $0.lastLocation = .at(37.41961, -122.07391)
        }
        _ = try await world.fixture.trip("trip-1")
        #expect(world.server.urls.count == asked)
        #expect(Set(world.server.urls).count == asked)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a write never waits for the router, and its legs are known to the next reader`()
        async throws
    {
        let world = try World()
        world.server.hold()
        try await world.start()
        let updated = try await world.fixture.updateVehicle("veh-1", ["last_location"]) {
            $0.lastLocation = .at(37.42, -122.07)
        }
        #expect(updated.waypoints.first?.distanceMeters.value != 2500)
        // The same requests serve the reader; it does not ask again.
        async let trip = world.fixture.trip("trip-1")
        while world.server.urls.count < 3 { await Task.yield() }
        world.server.release()
        #expect(try await trip.route == Self.bends)
        #expect(Set(world.server.urls).count == world.server.urls.count)
    }

    @Test(.timeLimit(.minutes(1)))
    func `who is cancelled waits no longer, and the answer serves the next`() async throws {
        let world = try World()
        let router = world.router
        world.server.hold()
        let learning = Task { await router.learn([Self.leg]) }
        while world.server.urls.isEmpty { await Task.yield() }
        learning.cancel()
        #expect(await !learning.value)
        #expect(router.known(Self.leg) == nil)
        world.server.release()
        while router.known(Self.leg) == nil { await Task.yield() }
        #expect(router.known(Self.leg) == Self.way)
        #expect(world.server.urls.count == 1)
    }

    @Test func `without an answer ways are straight lines, an outage is told once, and its end`() async throws {
        let world = try World()
        world.server.answer(0)
        try await world.start()
        for _ in 0..<10 {
            let trip = try await world.fixture.trip("trip-1")
            #expect(trip.route == [Vehicle.sample.lastLocation.location, .at(37.43, -122.08)])
        }
        #expect(world.log.messages(at: .error).count == 1)
        // Nobody asks a server that is down but one who looks.
        let asked = world.server.urls.count
        _ = try await world.fixture.trip("trip-1")
        #expect(world.server.urls.count == asked)
        world.elapse(.seconds(2))
        world.server.answer()
        _ = try await world.fixture.trip("trip-1")
        #expect(try await world.fixture.trip("trip-1").route == Self.bends)
        #expect(world.log.messages(at: .error).count == 1)
        #expect(world.log.messages(at: .notice).count == 1)
    }

    @Test(arguments: [
        (500, RouterStandIn.way), (200, "<html>"), (200, #"{"code":"Ok","routes":[]}"#), (404, ""),
        (200, #"{"code":"Ok","routes":[{"distance":-1,"duration":1,"geometry":"_p~iF~ps|U_ulLnnqC"}]}"#),
        (200, #"{"code":"Ok","routes":[{"distance":1,"duration":1,"geometry":"_p~iF~ps|U_ulL"}]}"#),
        (200, #"{"code":"Ok","routes":[{"distance":1,"duration":1,"geometry":""}]}"#),
        (200, #"{"code":"Ok","routes":[{"distance":1,"duration":1,"geometry":"~~~~~~~~~~~~~~"}]}"#),
        (200, #"{"code":"Ok","routes":[{"distance":1,"duration":1,"geometry":" !"}]}"#),
        (400, #"{"code":"InvalidUrl"}"#), (400, #"{"code":""}"#), (400, "{}"), (200, #"{"code":"TooBig"}"#),
    ])
    func `an answer that is none teaches nothing`(status: Int, body: String) async throws {
        let world = try World()
        world.server.answer(status, body)
        #expect(await !world.router.learn([Self.leg]))
        #expect(world.router.known(Self.leg) == nil)
    }

    @Test(arguments: ["NoRoute", "NoSegment", "TooBig", "InvalidValue"])
    func `where there is no road the way is straight, and nobody asks again`(word: String) async throws {
        let world = try World()
        world.server.answer(400, #"{"code":"\#(word)","message":"none"}"#)
        #expect(await world.router.learn([Self.leg]))
        #expect(world.router.known(Self.leg) == .noRoad)
        #expect(world.log.messages(at: .error).isEmpty)
    }

    @Test func `a way that is too long to read is as none, and does not count against the server`() async throws {
        let world = try World()
        world.server.fail(.answerTooLong)
        for leg in Self.legs(10) {
            #expect(await world.router.learn([leg]))
            #expect(world.router.known(leg) == .noRoad)
        }
        #expect(world.log.messages(at: .error).isEmpty)
    }

    @Test func `a leg across the world is not asked for`() throws {
        let world = try World()
        let (near, far) = (LatLng.at(37.42, -122.07), LatLng.at(-33.9, 151.2))
        #expect(world.router.known(RouteLeg(start: near, end: far)) == .noRoad)
        #expect(world.router.known(RouteLeg(start: near, end: .at(45.5, -122.07))) == nil)
    }

    /// Legs that nothing is known of.
    private static func legs(_ count: Int) -> [RouteLeg] {
        (0..<count).map { RouteLeg(start: Self.leg.start, end: .at(37.5 + Double($0) / 100, -122.08)) }
    }

    /// Asks for a leg whose answer takes too long; says whether it was asked for at all.
    private func asksInVain(for leg: RouteLeg, in world: World) async -> Bool {
        let before = world.server.urls.count
        world.server.hold()
        world.server.fail(.timedOut)
        let (router, isDone) = (world.router, Locked(false))
        let learning = Task {
            defer { isDone.withLock { $0 = true } }
            return await router.learn([leg])
        }
        while world.server.urls.count == before, !isDone.withLock({ $0 }) { await Task.yield() }
        world.elapse(.milliseconds(500))
        world.server.release()
        #expect(await !learning.value)
        return world.server.urls.count > before
    }

    @Test(.timeLimit(.minutes(1)))
    func `a leg that takes too long counts once, and is left alone for a while`() async throws {
        let world = try World()
        let legs = Self.legs(4)
        for _ in 0..<5 {
            #expect(await self.asksInVain(for: legs[0], in: world))
            #expect(await !self.asksInVain(for: legs[0], in: world))
            world.elapse(OSRMRouter.pause)
        }
        #expect(world.log.messages(at: .error).isEmpty)
        // A server that is too slow for one leg after another does not answer.
        #expect(await self.asksInVain(for: legs[1], in: world))
        #expect(await self.asksInVain(for: legs[2], in: world))
        #expect(world.log.messages(at: .error).count == 1)
        #expect(await !self.asksInVain(for: legs[3], in: world))
    }

    @Test func `who walks or cycles takes no car's road`() {
        let survey = RouteSurvey(NoRoads())
        for category in [Vehicle.VehicleType.Category.bicycle, .pedestrian] {
            _ = survey.estimate(from: Self.leg.start, to: Self.leg.end, by: category)
        }
        #expect(survey.unknown.isEmpty)
        _ = survey.estimate(from: Self.leg.start, to: Self.leg.end, by: .auto)
        #expect(!survey.isKnown(from: Self.leg.start, to: Self.leg.end, by: .taxi))
        #expect(survey.unknown == [Self.leg])
    }

    @Test func `where there is no road everybody takes as long as on the straight line`() {
        let survey = RouteSurvey(NoRoads(answer: .noRoad))
        for category in Vehicle.VehicleType.Category.allCases {
            let straight = StraightLineEstimator().estimate(from: Self.leg.start, to: Self.leg.end, by: category)
            #expect(survey.estimate(from: Self.leg.start, to: Self.leg.end, by: category) == straight, "\(category)")
            #expect(survey.isKnown(from: Self.leg.start, to: Self.leg.end, by: category))
        }
        #expect(survey.unknown.isEmpty)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a leg that takes too long does not count where another was answered meanwhile`() async throws {
        let world = try World()
        let legs = Self.legs(8)
        let (server, router) = (world.server, world.router)
        for index in 0..<6 {
            server.hold()
            server.fail(.timedOut)
            let asked = server.urls.count
            let late = Task { await router.learn([legs[index]]) }
            while server.urls.count == asked { await Task.yield() }
            if index < 5 {
                // One that comes later is answered at once.
                server.passBy()
                server.answer()
                #expect(await router.learn([RouteLeg(start: legs[index].end, end: Self.leg.end)]))
                server.fail(.timedOut)
            }
            server.release()
            #expect(await !late.value)
        }
        #expect(world.log.messages(at: .error).isEmpty)
        #expect(await self.asksInVain(for: legs[6], in: world))
        #expect(await self.asksInVain(for: legs[7], in: world))
        #expect(world.log.messages(at: .error).count == 1)
    }

    @Test(.timeLimit(.minutes(1)))
    func `as many legs as are asked for at once are under way at once`() async throws {
        let count = OSRMRouter.maximumRequests
        let crowd = Crowd(of: count)
        let server = Router()
        server.get("/route/v1/driving/**") { _, _ in
            // Nobody is answered before all are there.
            await crowd.gather()
            return RouterStandIn.way
        }
        let legs = Self.legs(count)
        try await Application(router: server).test(.live) { client in
            let url = "http://127.0.0.1:\(try #require(client.port))"
            let settings = OSRMRouter.Settings(url: url, timeLimit: .seconds(20), cachedLegs: 2 * count)
            let router = try EngineService.router(settings, logger: Logger(label: "test"))
            #expect(await router.learn(legs))
            await crowd.disperse()
            for leg in legs { #expect(router.known(leg) == Self.way) }
        }
    }

    @Test(arguments: ["osrm:5000", "ftp://osrm", "http://", "http://u:p@osrm", "http://osrm?x=1", "http://osrm/#a", ""])
    func `an address that is none is an error`(url: String) {
        #expect(throws: EngineError.self) {
            try OSRMRouter(.init(url: url), transport: RouterStandIn(), logger: Logger(label: "test"))
        }
    }
}

/// Lets everybody go on once enough have come.
private actor Crowd {
    private let size: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(of size: Int) { self.size = size }

    func gather() async {
        await withCheckedContinuation { continuation in
            self.waiting.append(continuation)
            if self.waiting.count >= self.size { self.disperse() }
        }
    }

    /// Lets go on whoever waits.
    func disperse() {
        for one in self.waiting { one.resume() }
        self.waiting = []
    }
}

private struct NoRoads: RoadRouter {
    var answer: KnownRoad?

    func known(_ leg: RouteLeg) -> KnownRoad? { self.answer }
    func learn(_ legs: [RouteLeg]) async -> Bool { false }
    func prepare(_ legs: [RouteLeg]) {}
}
