// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

@testable import FleetDriver

@Suite(.timeLimit(.minutes(10))) struct DeliveryStopsTests {
    // MARK: - A driver's round

    @Test func `a stop is reported enroute, arrived and done`() async throws {
        let world = try DeliveryReporterWorld()
        #expect(await world.reporter.remainingStops == nil)
        #expect(try await world.reporter.reportEnrouteToNextStop().short == ["1 a ENROUTE", "2 b+c NEW"])
        #expect(try await world.reporter.reportArrivedAtStop().short == ["1 a ARRIVED", "2 b+c NEW"])
        #expect(try await world.reporter.reportCompletedStop().short == ["2 b+c NEW"])
        #expect(await world.reporter.remainingStops?.short == ["2 b+c NEW"])
        #expect(world.engine.stops == ["2 b+c NEW"])

        let update = try #require(world.requests.last)
        #expect(update.method == "PATCH" && update.mask == "remaining_vehicle_journey_segments")
        #expect(
            String(decoding: try #require(update.body), as: UTF8.self)
                == #"{"remainingVehicleJourneySegments":[{"stop":{"plannedLocation":{"point":{"latitude":2.0,"#
                + #""longitude":7.0}},"state":"NEW","tasks":[{"taskId":"b"},{"taskId":"c"}]}}]}"#)
    }

    @Test func `a change of stops carries a token for the stop's task, and reading the vehicle's own`() async throws {
        let world = try DeliveryReporterWorld(stops: ["1 a ARRIVED", "2 b+c NEW"])
        try await world.reporter.reportCompletedStop()
        try await world.reporter.reportEnrouteToNextStop()
        #expect(
            world.requests.map(\.authorization)
                == [nil, nil, "a", nil, "b"].map { try? world.token(task: $0).authorizationHeader })
    }

    @Test func `a token for the vehicle alone will do for stops`() async throws {
        let world = try DeliveryReporterWorld(
            tokens: StubTokenProvider { subject, _ in
                guard case .deliveryDriver(let vehicle, _) = subject else { throw CancellationError() }
                return TestTokens.token(for: .deliveryDriver(vehicle))
            })
        #expect(try await world.reporter.reportEnrouteToNextStop().first?.state == .enroute)
    }

    @Test func `a token server without tokens for tasks is asked for the vehicle's own`() async throws {
        let engine = StubDeliveryEngine(stops: ["1 a NEW"])
        let vehicle = try DeliveryVehicleID(checking: "van-1")
        let endpoint = try TokenEndpoint.scheduled(#require(URL(string: "https://tokens.example")))
        let server = StubTransport { _, index in
            let token = TestTokens.token(for: .deliveryDriver(vehicle), serial: index)
            return .response(
                TestTokens.response(
                    with: token, from: endpoint, for: .deliveryDriver(vehicle), life: .seconds(3300),
                    at: TestTokens.issuedAt + 300))
        }
        let reporter = try DeliveryVehicleReporter(
            provider: ProviderID(checking: "acme"), vehicle: vehicle,
            engine: #require(URL(string: "https://engine.example")),
            tokens: FleetTokenProvider(endpoint: endpoint, transport: server, clock: ManualClock()),
            transport: engine.transport, clock: ManualClock())
        engine.answer(nil, nil, .status(401))
        #expect(try await reporter.reportEnrouteToNextStop().short == ["1 a ENROUTE"])
        // The refused token is given up as the vehicle's, so that another one comes.
        #expect(server.requests.map(\.url.path) == ["/token/delivery_driver/van-1", "/token/delivery_driver/van-1"])
        #expect(engine.transport.requests.map(\.method) == ["GET", "GET", "PATCH", "PATCH"])
    }

    @Test func `all stops can be replaced, without asking for those before`() async throws {
        let world = try DeliveryReporterWorld(stops: [])
        let stops = try [
            VehicleStop(latitude: 3, longitude: 7, tasks: [TaskID(checking: "d")], state: .enroute),
            VehicleStop(latitude: 4, longitude: 7, tasks: []),
        ]
        #expect(try await world.reporter.setStops(stops).short == ["3 d ENROUTE", "4  NEW"])
        #expect(world.requests.count == 1)
        #expect(try await world.reporter.setStops([]).isEmpty)
        #expect(world.engine.stops.isEmpty)
    }

    @Test func `a stop that a dispatcher added meanwhile stays`() async throws {
        let world = try DeliveryReporterWorld()
        _ = try await world.reporter.readRemainingStops()
        world.engine.stops = ["0 z NEW", "1 a NEW", "2 b+c NEW", "3 d NEW"]
        #expect(
            try await world.reporter.reportArrivedAtStop().short
                == ["0 z NEW", "1 a ARRIVED", "2 b+c NEW", "3 d NEW"])
    }

    @Test func `stops that come after the list was empty are learned of`() async throws {
        let world = try DeliveryReporterWorld(stops: ["1 a ARRIVED"])
        #expect(try await world.reporter.reportCompletedStop().isEmpty)
        world.engine.stops = ["2 b NEW"]
        #expect(try await world.reporter.reportEnrouteToNextStop().short == ["2 b ENROUTE"])
    }

    @Test func `a task that a dispatcher added to a stop does not end with it`() async throws {
        let world = try DeliveryReporterWorld(stops: ["1 a NEW", "2 b NEW"])
        _ = try await world.reporter.readRemainingStops()
        world.engine.stops = ["1 a+z NEW", "2 b NEW"]
        #expect(try await world.reporter.reportArrivedAtStop().short == ["1 a+z ARRIVED", "2 b NEW"])
        world.engine.stops = ["1 a+y+z ARRIVED", "2 b NEW"]
        #expect(try await world.reporter.reportCompletedStop().short == ["1 y ARRIVED", "2 b NEW"])
    }

    @Test func `a stop without tasks is reported like any other`() async throws {
        let world = try DeliveryReporterWorld(stops: ["1  NEW", "2 b NEW"])
        #expect(try await world.reporter.reportArrivedAtStop().short == ["1  ARRIVED", "2 b NEW"])
        #expect(try await world.reporter.reportCompletedStop().short == ["2 b NEW"])
    }

    @Test func `a report about a stop that is gone is an error, and blocks nothing`() async throws {
        let world = try DeliveryReporterWorld()
        _ = try await world.reporter.readRemainingStops()
        world.engine.stops = ["2 b+c NEW"]
        let error = await #expect(throws: DriverError.self) { try await world.reporter.reportArrivedAtStop() }
        #expect(error?.code == .stopGone)
        #expect(world.requests.map(\.method) == ["GET", "GET"])
        #expect(try await world.reporter.reportArrivedAtStop().short == ["2 b+c ARRIVED"])
    }

    @Test func `a stop that is gone is told of, whatever becomes of the changes before it`() async throws {
        let world = try DeliveryReporterWorld(stops: ["1 a ARRIVED", "2 b NEW"])
        world.engine.answer(nil, nil, .offline)
        await #expect(throws: EngineFailure.self) { try await world.reporter.reportCompletedStop() }
        world.engine.stops = ["1 a ARRIVED"]
        world.engine.answer(nil, .offline)
        let error = await #expect(throws: DriverError.self) { try await world.reporter.reportArrivedAtStop() }
        #expect(error?.code == .stopGone)
        #expect(await world.reporter.plan.pendingCount == 1)
    }

    @Test func `a change that was kept is told of when its stop is gone`() async throws {
        let world = try DeliveryReporterWorld(stops: ["1 a NEW", "2 b NEW"])
        world.engine.answer(nil, nil, .offline)
        await #expect(throws: EngineFailure.self) { try await world.reporter.reportArrivedAtStop() }
        #expect(try await world.event().pendingCount == 1)
        world.engine.stops = ["2 b NEW"]
        #expect(try await world.report(1).pendingCount == 1)
        let event = try await world.event()
        #expect((event.failure?.cause as? DriverError)?.code == .stopGone && event.pendingCount == 0)
        guard case .stops(let stops) = event.content else {
            Issue.record("The event is about something else: \(event)")
            return
        }
        #expect(stops.short == ["2 b NEW"])
    }

    @Test(arguments: ["5 a NEW", "1 z NEW"])
    func `a stop that was moved, or got other tasks, is not the one that was begun`(other: String) async throws {
        let world = try DeliveryReporterWorld(stops: ["1 a NEW"])
        try await world.reporter.reportEnrouteToNextStop()
        world.engine.stops = [other]
        let error = await #expect(throws: DriverError.self) { try await world.reporter.reportArrivedAtStop() }
        #expect(error?.code == .stopGone)
        #expect(world.engine.stops == [other])
    }

    @Test func `an answer without a vehicle's name tells nothing of its stops`() async throws {
        let world = try DeliveryReporterWorld()
        let stops = try await world.reporter.readRemainingStops()
        world.engine.answer(.page("{}"))
        let failure = await #expect(throws: EngineFailure.self) { try await world.reporter.setStops(stops) }
        #expect(failure?.message == "The engine's answer is not a delivery vehicle.")
        #expect(await world.reporter.remainingStops?.short == ["1 a NEW", "2 b+c NEW"])
    }

    @Test func `a 403 for a token that was sent before renews none`() async throws {
        let world = try DeliveryReporterWorld()
        let refusal = StubTransport.Answer.status(403)
        #expect(try await world.report(1).failure == nil)
        world.engine.answer(refusal)
        #expect(try await world.report(2).failure?.code == .permissionDenied)
        try await world.reporter.reportEnrouteToNextStop()
        // The list is read before it is changed.
        world.engine.answer(nil, refusal)
        await #expect(throws: EngineFailure.self) { try await world.reporter.reportArrivedAtStop() }
        let task = try TaskID(checking: "b")
        try await world.reporter.reportOutcome(.succeeded, of: task)
        world.engine.answer(refusal)
        await #expect(throws: EngineFailure.self) { try await world.reporter.reportOutcome(.failed, of: task) }
        #expect(world.tokens.invalidated.isEmpty)
    }

    @Test func `a list that cannot be read whole is never sent back`() async throws {
        let world = try DeliveryReporterWorld(stops: ["1 a NEW", "2 b NEW"])
        _ = try await world.reporter.readRemainingStops()
        world.engine.stops = ["1 a NEW", "2 b/c NEW"]
        let error = await #expect(throws: EngineFailure.self) { try await world.reporter.reportEnrouteToNextStop() }
        #expect(error?.code == .internalError)
        #expect(world.requests.map(\.method) == ["GET", "GET"])
    }

    // MARK: - What a driver cannot mean

    @Test func `a stop that was not begun cannot be completed, so that no stop is completed twice`() async throws {
        let world = try DeliveryReporterWorld(stops: ["1 a ARRIVED", "2 b NEW"])
        world.engine.answer(nil, nil, .offline)
        await #expect(throws: EngineFailure.self) { try await world.reporter.reportCompletedStop() }
        let error = await #expect(throws: DriverError.self) { try await world.reporter.reportCompletedStop() }
        #expect(error?.code == .stopNotBegun)
        #expect(await world.reporter.remainingStops?.short == ["2 b NEW"])
    }

    @Test func `without a stop there is nothing to report`() async throws {
        let world = try DeliveryReporterWorld(stops: [])
        let error = await #expect(throws: DriverError.self) { try await world.reporter.reportArrivedAtStop() }
        #expect(error?.code == .noRemainingStops)
    }

    @Test func `only the first of new stops may be begun`() async throws {
        let world = try DeliveryReporterWorld()
        let stops = try [1, 2].map { try VehicleStop(latitude: $0, longitude: 7, tasks: [], state: .arrived) }
        let error = await #expect(throws: DriverError.self) { try await world.reporter.setStops(stops) }
        #expect(error?.code == .invalidStops && world.requests.isEmpty)
    }

    @Test(arguments: [(91.0, 0.0), (0, 181), (.nan, 0)]) func `a stop's place is checked`(place: (Double, Double)) {
        #expect(throws: DriverError.self) { try VehicleStop(latitude: place.0, longitude: place.1, tasks: []) }
    }

    // MARK: - Bad connections

    @Test func `changes that could not be sent go out after the next report, in order`() async throws {
        let world = try DeliveryReporterWorld()
        _ = try await world.reporter.readRemainingStops()
        world.engine.answer(.offline, .offline, .offline)
        await #expect(throws: EngineFailure.self) { try await world.reporter.reportEnrouteToNextStop() }
        await #expect(throws: EngineFailure.self) { try await world.reporter.reportCompletedStop() }
        await #expect(throws: EngineFailure.self) { try await world.reporter.reportEnrouteToNextStop() }
        #expect(await world.reporter.remainingStops?.short == ["2 b+c ENROUTE"])
        #expect(world.engine.stops == ["1 a NEW", "2 b+c NEW"])
        for _ in 1...3 { #expect(try await world.event().failure != nil) }

        world.engine.stops.append("3 d NEW")
        _ = try await world.report(1)
        let event = try await world.event()
        guard case .stops(let sent) = event.content else {
            Issue.record("The event is about something else: \(event)")
            return
        }
        #expect(sent.short == ["2 b+c ENROUTE", "3 d NEW"] && event.pendingCount == 0)
        #expect(world.engine.stops == ["2 b+c ENROUTE", "3 d NEW"])
    }

    @Test(arguments: [false, true]) func `a list that did not get through is not sent over a later one`(
        isCancelled: Bool
    ) async throws {
        let world = try DeliveryReporterWorld(stops: ["1 a NEW", "2 b NEW"])
        let reporter = world.reporter
        let stops = try await reporter.readRemainingStops()
        world.engine.answer(isCancelled ? .silence : .status(503))
        let change = Task { try await reporter.setStops(stops.reversed()) }
        await world.engine.transport.waitForRequests(2)
        if isCancelled { change.cancel() }
        await #expect(throws: (any Error).self) { try await change.value }
        if !isCancelled { #expect(try await world.event().pendingCount == 0) }
        #expect(await reporter.remainingStops == stops)

        world.engine.stops.append("9 z NEW")
        _ = try await world.report(1)
        await reporter.stopTracking()
        #expect(world.requests.map(\.mask) == [nil, "remaining_vehicle_journey_segments", "last_location"])
        #expect(world.engine.stops == ["1 a NEW", "2 b NEW", "9 z NEW"])
        #expect(try await reporter.reportArrivedAtStop().short == ["1 a ARRIVED", "2 b NEW", "9 z NEW"])
    }

    @Test(arguments: [429, 503, 504]) func `an engine in trouble is not sent all that is pending`(
        status: Int
    ) async throws {
        let world = try DeliveryReporterWorld()
        world.engine.answer(.offline, .offline)
        for task in ["a", "b"] {
            await #expect(throws: EngineFailure.self) {
                try await world.reporter.reportOutcome(.succeeded, of: TaskID(checking: task))
            }
            _ = try await world.event()
        }
        world.engine.answer(nil, .status(status), .status(status))
        _ = try await world.report(1)
        await world.reporter.stopTracking()
        let repeated = world.requests.dropFirst(3).map(\.url.lastPathComponent)
        #expect(!repeated.isEmpty && repeated.allSatisfy { $0 == "a" })
    }

    @Test func `a connection that fails, in whatever way, is not tried with all that is pending`() async throws {
        let world = try DeliveryReporterWorld()
        let useless = StubTransport.Answer.failure(TokenClientError(code: .invalidAnswer, message: "It has no end."))
        world.engine.answer(.offline, .offline)
        for task in ["a", "b"] {
            await #expect(throws: EngineFailure.self) {
                try await world.reporter.reportOutcome(.succeeded, of: TaskID(checking: task))
            }
            _ = try await world.event()
        }
        world.engine.answer(nil, useless, useless)
        _ = try await world.report(1)
        #expect(try await world.event().failure?.stage == .connection)
        await world.reporter.stopTracking()
        let repeated = world.requests.dropFirst(3).map(\.url.lastPathComponent)
        #expect(!repeated.isEmpty && repeated.allSatisfy { $0 == "a" })
    }

    @Test func `reading the stops counts in a change's time limit, and in its wait for tokens`() async throws {
        let recorder = SleepRecorder()
        let clock = recorder.clock
        let world = try DeliveryReporterWorld(
            tokens: StubTokenProvider { subject, _ in
                if case .deliveryDriver(_, nil) = subject { clock.advance(by: .seconds(5)) }
                return TestTokens.token(for: subject)
            }, recorder: recorder)
        _ = try await world.reporter.readRemainingStops()
        try await world.reporter.reportArrivedAtStop()
        #expect(world.requests.map(\.method) == ["GET", "GET", "PATCH"])
        #expect(world.requests.map(\.timeout) == Array(repeating: .milliseconds(2800), count: 3))
        #expect(try await world.event().tokenWait == .seconds(5))
    }

    @Test func `nothing is repeated before the engine wants it`() async throws {
        let world = try DeliveryReporterWorld()
        let busy = HTTPTransportResponse(status: 503, headers: [("retry-after", "60")], body: Data("{}".utf8))
        world.engine.answer(.response(busy))
        await #expect(throws: EngineFailure.self) {
            try await world.reporter.reportOutcome(.succeeded, of: TaskID(checking: "a"))
        }
        _ = try await world.event()
        world.engine.answer(nil, .response(busy))
        _ = try await world.report(1)
        _ = try await world.event()
        await world.reporter.stopTracking()
        world.clock.advance(by: .seconds(59))
        _ = try await world.report(2)
        await world.reporter.stopTracking()
        #expect(world.requests.map(\.url.lastPathComponent) == ["a", "van-1", "a", "van-1"])
        world.clock.advance(by: .seconds(1))
        _ = try await world.report(3)
        #expect(try await world.event().pendingCount == 0)
    }

    @Test(arguments: [400, 403, 404, 501]) func `a change that the engine refuses is dropped and blocks nothing`(
        status: Int
    ) async throws {
        let world = try DeliveryReporterWorld()
        world.engine.answer(nil, nil, .status(status), status == 403 ? .status(403) : nil)
        let error = await #expect(throws: EngineFailure.self) { try await world.reporter.reportArrivedAtStop() }
        #expect(error?.httpStatus == status)
        #expect(try await world.event().pendingCount == 0)
        #expect(await world.reporter.remainingStops?.short == ["1 a NEW", "2 b+c NEW"])
        #expect(try await world.report(1).failure == nil)
    }

    // MARK: - The order of calls

    /// Makes a call, and returns when it has its place behind those before.
    private func call<Value: Sendable>(
        _ reporter: DeliveryVehicleReporter,
        _ work: @escaping @Sendable (DeliveryVehicleReporter) async throws -> Value
    ) async -> Task<Value, any Error> {
        let before = await reporter.lastTurn
        let call = Task { try await work(reporter) }
        while await reporter.lastTurn == before { await Task.yield() }
        return call
    }

    @Test func `calls take effect in their order, also while the stops are not known`() async throws {
        let world = try DeliveryReporterWorld(stops: ["1 a NEW", "2 b NEW"])
        let reporter = world.reporter
        let (report, release) = try await world.beginHeldReport()
        let enroute = await self.call(reporter) { try await $0.reportEnrouteToNextStop() }
        let arrival = await self.call(reporter) { try await $0.reportArrivedAtStop() }
        let completion = await self.call(reporter) { try await $0.reportCompletedStop() }
        release.finish()
        await report.value
        _ = try await (enroute.value, arrival.value)
        #expect(try await completion.value.short == ["2 b NEW"])
        #expect(world.engine.stops == ["2 b NEW"])
    }

    @Test func `a list that is set after another call takes effect after it`() async throws {
        let world = try DeliveryReporterWorld(stops: ["1 a NEW"])
        let reporter = world.reporter
        let (report, release) = try await world.beginHeldReport()
        let arrival = await self.call(reporter) { try await $0.reportArrivedAtStop() }
        let list = try [VehicleStop(latitude: 2, longitude: 7, tasks: [TaskID(checking: "b")])]
        let change = await self.call(reporter) { try await $0.setStops(list) }
        release.finish()
        await report.value
        _ = try await arrival.value
        #expect(try await change.value.short == ["2 b NEW"])
        #expect(world.engine.stops == ["2 b NEW"])
    }

    @Test func `a call that is cancelled in its place holds up none behind it, and lets none pass`() async throws {
        let world = try DeliveryReporterWorld(stops: ["1 a NEW"])
        let reporter = world.reporter
        let (report, release) = try await world.beginHeldReport()
        let enroute = await self.call(reporter) { try await $0.reportEnrouteToNextStop() }
        let cancelled = await self.call(reporter) { try await $0.setStops([]) }
        let arrival = await self.call(reporter) { try await $0.reportArrivedAtStop() }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        release.finish()
        await report.value
        _ = try await enroute.value
        #expect(try await arrival.value.short == ["1 a ARRIVED"])
        #expect(world.engine.stops == ["1 a ARRIVED"])
    }

    // MARK: - Cancelled calls

    @Test(arguments: [false, true]) func `a cancelled change is kept where it was being sent, and else not made`(
        isSent: Bool
    ) async throws {
        let world = try DeliveryReporterWorld()
        _ = try await world.reporter.readRemainingStops()
        if isSent { world.engine.answer(nil, .silence) } else { world.engine.answer(.silence) }
        let reporter = world.reporter
        let change = Task { try await reporter.reportArrivedAtStop() }
        await world.engine.transport.waitForRequests(isSent ? 3 : 2)
        change.cancel()
        await #expect(throws: CancellationError.self) { try await change.value }
        #expect(await reporter.remainingStops?.first?.state == (isSent ? .arrived : .new))
        _ = try await world.report(1)
        await reporter.stopTracking()
        #expect(world.engine.stops.first == (isSent ? "1 a ARRIVED" : "1 a NEW"))
        #expect(await reporter.plan.pendingCount == 0)
    }

    @Test(arguments: [false, true]) func `a change that is cancelled while its token is fetched is not made`(
        isOutcome: Bool
    ) async throws {
        let (gate, release) = AsyncStream.makeStream(of: Never.self)
        let world = try DeliveryReporterWorld(
            tokens: StubTokenProvider { subject, _ in
                if case .deliveryDriver(_, _?) = subject { for await _ in gate {} }
                return TestTokens.token(for: subject)
            })
        let reporter = world.reporter
        _ = try await reporter.readRemainingStops()
        let task = try TaskID(checking: "a")
        let change = Task {
            if isOutcome {
                try await reporter.reportOutcome(.failed, of: task)
            } else {
                _ = try await reporter.reportArrivedAtStop()
            }
        }
        while !world.tokens.subjects.contains(.deliveryDriver(world.vehicle, task: task)) { await Task.yield() }
        change.cancel()
        await #expect(throws: CancellationError.self) { try await change.value }
        release.finish()
        #expect(await reporter.plan.pendingCount == 0)
        #expect(try await world.report(1).pendingCount == 0)
        await reporter.stopTracking()
        #expect(world.requests.map(\.mask) == (isOutcome ? [nil, "last_location"] : [nil, nil, "last_location"]))
    }

    @Test func `calls of a cancelled task make no change, now or later`() async throws {
        let world = try DeliveryReporterWorld()
        let reporter = world.reporter
        _ = try await reporter.readRemainingStops()
        let calls = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await #expect(throws: CancellationError.self) {
                try await reporter.reportOutcome(.failed, of: TaskID(checking: "a"))
            }
            await #expect(throws: CancellationError.self) { try await reporter.reportArrivedAtStop() }
            await #expect(throws: CancellationError.self) { try await reporter.setStops([]) }
            await #expect(throws: CancellationError.self) { try await reporter.readRemainingStops() }
        }
        await calls.value
        // Nor was one made for a moment, in which it could go out with another: the next ones are the first.
        var plan = await reporter.plan
        let outcome = TaskOutcomeReport(task: try TaskID(checking: "b"), outcome: .failed, time: Date(), place: nil)
        let next = [plan.stopChanges.add(.replaceAll([])), plan.outcomes.add(outcome)]
        #expect(next == [1, 1])
        #expect(try await world.report(1).pendingCount == 0)
        await reporter.stopTracking()
        #expect(world.requests.map(\.mask) == [nil, "last_location"])
    }

    @Test func `calls that are cancelled while they wait for a report end at once and make no change`() async throws {
        let world = try DeliveryReporterWorld()
        let reporter = world.reporter
        _ = try await reporter.readRemainingStops()
        let (report, release) = try await world.beginHeldReport()
        let outcome = Task { try await reporter.reportOutcome(.failed, of: TaskID(checking: "a")) }
        let arrival = Task { try await reporter.reportArrivedAtStop() }
        let reading = Task { try await reporter.readRemainingStops() }
        while await reporter.plan.pendingCount < 2 { await Task.yield() }
        outcome.cancel()
        arrival.cancel()
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await outcome.value }
        await #expect(throws: CancellationError.self) { try await arrival.value }
        await #expect(throws: CancellationError.self) { try await reading.value }
        release.finish()
        await report.value
        #expect(try await world.event().pendingCount == 0)
        await reporter.stopTracking()
        #expect(world.requests.map(\.mask) == [nil, "last_location"])
    }

    @Test func `changes by several callers are all taken, one after the other`() async throws {
        let world = try DeliveryReporterWorld(stops: ["1 a NEW", "2 b NEW", "3 c NEW"])
        _ = try await world.reporter.readRemainingStops()
        let reporter = world.reporter
        async let first = reporter.reportEnrouteToNextStop()
        async let second = reporter.reportArrivedAtStop()
        async let third: Void = reporter.reportOutcome(.succeeded, of: TaskID(checking: "a"))
        _ = try await (first, second, third)
        #expect(try await reporter.reportCompletedStop().short == ["2 b NEW", "3 c NEW"])
    }
}
