// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct DeliveryVehicleReporterTests {
    // MARK: - Locations

    @Test func `a report patches the delivery vehicle with its own token`() async throws {
        let world = try DeliveryReporterWorld(configuration: .init(sensor: .coreLocation))
        let event = try await world.report(10)
        guard case .locations(let newest, 0) = event.content else {
            Issue.record("The event is about something else: \(event)")
            return
        }
        #expect(newest == (try .at(10)) && event.failure == nil && event.unsentCount == 0)

        let request = try #require(world.requests.first)
        #expect(request.method == "PATCH")
        #expect(
            request.url.absoluteString
                == "https://engine.example/v1/providers/acme/deliveryVehicles/van-1?updateMask=last_location")
        #expect(request.authorization == (try world.token().authorizationHeader))
        #expect(
            String(decoding: try #require(request.body), as: UTF8.self)
                == #"{"lastLocation":{"location":{"latitude":1.0,"longitude":-122.0},"#
                + #""locationSensor":"CORE_LOCATION","updateTime":"1970-01-01T00:00:10.000Z"}}"#)
    }

    @Test func `unsent fixes go with the next report, oldest first, and a full buffer drops the oldest`() async throws {
        let world = try DeliveryReporterWorld(configuration: .init(capacity: 3))
        world.engine.answer(.offline, .status(503))
        #expect(try await world.report(1, 2).unsentCount == 2)
        #expect(try await world.report(3).failure?.code == .unavailable)
        let sent = try await world.report(4)
        #expect(sent.failure == nil && sent.unsentCount == 0 && sent.droppedCount == 1)
        #expect(try world.requests.map { try $0.latitudes } == [[0.1, 0.2], [0.1, 0.2, 0.3], [0.2, 0.3, 0.4]])
        #expect(world.requests.last?.mask == "last_location,past_locations")
    }

    @Test(arguments: ["<html>Sign in to this network.</html>", "{}", "[]"])
    func `a success that is no resource took nothing, and tells of no stops`(body: String) async throws {
        let world = try DeliveryReporterWorld()
        world.engine.answer(.page(body), .page(body), .page(body))
        let event = try await world.report(1)
        #expect(event.failure?.message == "The engine's answer is not a delivery vehicle.")
        #expect(event.failure?.code == .internalError && event.unsentCount == 1)
        await #expect(throws: EngineFailure.self) { try await world.reporter.readRemainingStops() }
        #expect(await world.reporter.remainingStops == nil)
        let error = await #expect(throws: EngineFailure.self) {
            try await world.reporter.reportOutcome(.succeeded, of: TaskID(checking: "a"))
        }
        #expect(error?.message == "The engine's answer is not a task.")
        #expect(try await world.event().pendingCount == 1)
        #expect(try await world.report(2).unsentCount == 0)
        #expect(try await world.event().pendingCount == 0)
        #expect(world.engine.state.withLock(\.outcomes) == ["a": "SUCCEEDED"])
        #expect(world.engine.state.withLock(\.latitudes) == [0.1, 0.2])
    }

    @Test func `without tracking nothing is kept, and its end sends what is left once`() async throws {
        let world = try DeliveryReporterWorld()
        await world.reporter.record(try .at(1))
        await world.reporter.reportNow()
        #expect(world.requests.isEmpty)
        world.engine.answer(.offline, .offline)
        #expect(try await world.report(2).unsentCount == 1)
        await world.reporter.stopTracking()
        await world.reporter.stopTracking()
        #expect(try world.requests.map { try $0.latitudes } == [[0.2], [0.2]])
        let last = try await world.event()
        #expect(last.failure != nil && last.unsentCount == 0 && last.droppedCount == 1)
        #expect(try await world.report(3).droppedCount == 0)
        #expect(try world.requests.last?.latitudes == [0.3])
    }

    @Test func `reports go out at the interval`() async throws {
        let recorder = SleepRecorder()
        let configuration = VehicleReporterConfiguration(reportingInterval: .seconds(20))
        let world = try DeliveryReporterWorld(configuration: configuration, recorder: recorder)
        let (fixes, source) = AsyncStream.makeStream(of: LocationFix.self)
        await world.reporter.startTracking()
        let reporter = world.reporter
        let run = Task { try await reporter.run(reporting: fixes) }
        #expect(await recorder.sleeps.first { _ in true } == .seconds(20))
        source.yield(try .at(1))
        _ = try await world.event()
        recorder.clock.advance(by: .seconds(20))
        for count in 2...3 {
            _ = try await world.event()
            #expect(world.requests.count == count)
            #expect(await recorder.passNextSleep(except: configuration.timeLimit) == .seconds(20))
        }
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
    }

    /// A reporter of a world's vehicle, whose requests another transport carries.
    private func reporter(
        of world: DeliveryReporterWorld, over transport: StubTransport
    ) throws -> DeliveryVehicleReporter {
        try DeliveryVehicleReporter(
            provider: world.reporter.provider, vehicle: world.vehicle,
            engine: #require(URL(string: "https://engine.example")), tokens: world.tokens, transport: transport,
            clock: world.clock)
    }

    @Test func `locations of a source are reported right behind those that are on their way`() async throws {
        let (transport, release) = StubTransport.takingAll(holding: 0)
        let world = try DeliveryReporterWorld()
        let reporter = try self.reporter(of: world, over: transport)
        await reporter.startTracking()
        await reporter.record(try .at(1))
        let report = Task { await reporter.reportNow() }
        await transport.waitForRequests(1)
        let fixes = AsyncStream<LocationFix> { source in
            for second in 2...3 { if let fix = try? LocationFix.at(second) { source.yield(fix) } }
            source.finish()
        }
        let run = Task { try await reporter.run(reporting: fixes) }
        for _ in 0..<10_000 { await Task.yield() }
        #expect(transport.requests.count == 1)
        release.yield()
        await report.value
        try await run.value
        let latitudes = try transport.requests.map { try $0.latitudes }
        #expect(latitudes.first == [0.1] && latitudes.dropFirst().flatMap(\.self) == [0.2, 0.3])
    }

    @Test func `a report that is due while stops are on their way goes out right after them`() async throws {
        let (transport, release) = StubTransport.takingAll(holding: 0)
        let world = try DeliveryReporterWorld()
        let reporter = try self.reporter(of: world, over: transport)
        await reporter.startTracking()
        await reporter.record(try .at(1))
        let stops = Task { try await reporter.setStops([]) }
        await transport.waitForRequests(1)
        let report = Task { await reporter.reportNow() }
        for _ in 0..<1_000 { await Task.yield() }
        #expect(transport.requests.count == 1)
        release.yield()
        _ = try await stops.value
        await report.value
        #expect(transport.requests.map(\.mask) == ["remaining_vehicle_journey_segments", "last_location"])
    }

    @Test func `stops that are asked for twice at once are read one after the other`() async throws {
        let (transport, release) = StubTransport.takingAll(holding: 0)
        let world = try DeliveryReporterWorld()
        let reporter = try self.reporter(of: world, over: transport)
        let first = Task { try await reporter.readRemainingStops() }
        await transport.waitForRequests(1)
        let second = Task { try await reporter.readRemainingStops() }
        for _ in 0..<10_000 { await Task.yield() }
        #expect(transport.requests.count == 1)
        release.yield()
        _ = try await (first.value, second.value)
        #expect(transport.requests.map(\.method) == ["GET", "GET"])
    }

    @Test func `a report that is due while another is on its way is put off by an interval`() async throws {
        let recorder = SleepRecorder()
        let configuration = VehicleReporterConfiguration()
        let world = try DeliveryReporterWorld(configuration: configuration, recorder: recorder)
        let (report, release) = try await world.beginHeldReport()
        let reporter = world.reporter
        // Shorter than the time that the report has, which began before.
        await reporter.setReportingInterval(.seconds(5))
        let (fixes, source) = AsyncStream.makeStream(of: LocationFix.self)
        let run = Task { try await reporter.run(reporting: fixes) }
        #expect(await recorder.passNextSleep(except: configuration.timeLimit) == .seconds(5))
        #expect(await recorder.sleeps.first { $0 != configuration.timeLimit } == .seconds(5))
        release.finish()
        await report.value
        #expect(world.requests.count == 1)
        recorder.clock.advance(by: .seconds(5))
        await world.engine.transport.waitForRequests(2)
        source.finish()
        try await run.value
    }

    @Test func `a location that is recorded after tracking began again outlives the report that ended it`()
        async throws
    {
        let world = try DeliveryReporterWorld()
        let reporter = world.reporter
        let release = world.engine.holdLocations()
        await reporter.startTracking()
        await reporter.record(try .at(1))
        let end = Task { await reporter.stopTracking() }
        await world.engine.transport.waitForRequests(1)
        await reporter.startTracking()
        await reporter.record(try .at(2))
        release.finish()
        await end.value
        await reporter.reportNow()
        #expect(try world.requests.map { try $0.latitudes } == [[0.1], [0.2]])
    }

    @Test func `each reader hears of each report, whatever becomes of another`() async throws {
        let world = try DeliveryReporterWorld()
        let (gone, other) = (world.reporter.updates(), world.reporter.updates())
        let reader = Task { for await _ in gone {} }
        reader.cancel()
        await reader.value
        _ = try await world.report(1)
        let event = try #require(await other.first { _ in true })
        guard case .locations(let newest, 0) = event.content else {
            Issue.record("The event is about something else: \(event)")
            return
        }
        #expect(newest == (try .at(1)))
    }

    // MARK: - Tokens that must not leave

    private static func claims(_ vehicle: String?, _ task: String?) -> AuthorizationClaims? {
        try? .init(
            deliveryVehicle: vehicle.flatMap { $0 == "*" ? .any : DeliveryVehicleID($0).map { .only($0) } },
            task: task.flatMap { $0 == "*" ? .any : TaskID($0).map { .only($0) } })
    }

    private static let wrongClaims: [AuthorizationClaims?] = [
        nil, claims("*", nil), claims("van-2", nil), claims("van-2", "a"), claims(nil, "a"), claims("van-1", "*"),
        claims("van-1", "b"), try? .init(vehicle: VehicleID("van-1").map { .only($0) }),
        try? .init(tracking: TrackingID("van-1").map { .only($0) }),
    ]

    @Test(arguments: wrongClaims)
    func `a token for anything else never leaves`(claims: AuthorizationClaims?) async throws {
        let wrong = TestTokens.token(claiming: claims)
        let world = try DeliveryReporterWorld(tokens: StubTokenProvider { _, _ in wrong })
        #expect((try await world.report(1).failure?.cause as? TokenClientError)?.code == .wrongToken)
        let stop = try VehicleStop(latitude: 1, longitude: 7, tasks: [TaskID(checking: "a")])
        await #expect(throws: EngineFailure.self) { try await world.reporter.setStops([stop]) }
        await #expect(throws: EngineFailure.self) {
            try await world.reporter.reportOutcome(.succeeded, of: TaskID(checking: "a"))
        }
        await #expect(throws: EngineFailure.self) { try await world.reporter.readRemainingStops() }
        #expect(world.requests.isEmpty)
        #expect(world.tokens.invalidated.allSatisfy { $0 == wrong } && world.tokens.invalidated.count >= 4)
    }

    @Test func `after a 401 the token is renewed and the change sent once more`() async throws {
        let world = try DeliveryReporterWorld()
        _ = try await world.reporter.readRemainingStops()
        world.engine.answer(nil, .status(401))
        #expect(try await world.reporter.reportArrivedAtStop().short.first == "1 a ARRIVED")
        #expect(world.tokens.invalidated == [try world.token(task: "a")])
        #expect(world.requests.map(\.method) == ["GET", "GET", "PATCH", "PATCH"])
    }
}
